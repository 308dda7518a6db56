//! A running postmaster that does not outlive us, however we end.
//!
//! `PR_SET_PDEATHSIG` would be the plain way, but the kernel clears it when root changes the user. So a shell stands
//! between us and the postmaster and notices by a pipe that we are gone; see `supervise.sh`.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::account::Account;
use super::bounded;
use super::error::ServerError;

const SCRIPT: &str = include_str!("supervise.sh");

/// How long a fast shutdown may take before it becomes an immediate one, and that one before it becomes a kill.
const PATIENCE: Duration = Duration::from_secs(10);

/// The postmaster and the shell that watches over it.
#[derive(Debug)]
pub(super) struct Supervised {
    shell: Child,
    postmaster: Pid,
    /// Its end means our end, so it is kept as long as this value.
    _alive: ChildStdin,
}

impl Supervised {
    /// Starts `postgres`, with its log and the sign that it was orphaned in `folder`.
    pub(super) fn spawn(account: Account, folder: &Path, postgres: &Command) -> Result<Self, ServerError> {
        let mut shell = account.command(Path::new("/bin/sh"));
        shell.args(["-c", SCRIPT, "supervise.sh"]).arg(folder);
        shell.arg(postgres.get_program()).args(postgres.get_args());
        // A group of its own: Ctrl-C is for us, and the server goes when we have gone.
        shell.process_group(0);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = shell.spawn().map_err(ServerError::io("start `/bin/sh`"))?;
        let alive = shell.stdin.take().ok_or_else(|| lost("hold the server's pipe"))?;
        let postmaster = postmaster(&mut shell)?;
        Ok(Self { shell, postmaster, _alive: alive })
    }

    /// The postmaster's process id.
    pub(super) fn pid(&self) -> Pid {
        self.postmaster
    }

    /// Whether the postmaster has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.shell.try_wait(), Ok(None))
    }

    /// Sends the postmaster a signal and waits until it has ended; `false` when it has not.
    pub(super) fn end(&mut self, signal: Signal) -> Result<bool, ServerError> {
        // Its id may already be somebody else's once the shell has reaped it.
        if !self.has_ended() {
            // It may end by itself just now; the wait tells.
            let _ = kill_process(self.postmaster, signal);
        }
        bounded::wait(&mut self.shell, PATIENCE)
            .map(|ended| ended.is_some())
            .map_err(ServerError::io("wait for PostgreSQL to end"))
    }

    /// Fast shutdown, and if that is not fast, the harder ways.
    pub(super) fn stop(&mut self) -> Result<(), ServerError> {
        for signal in [Signal::INT, Signal::QUIT, Signal::KILL] {
            if self.end(signal)? {
                return Ok(());
            }
        }
        Err(lost("stop PostgreSQL"))
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // What is left undone here, the shell does when the pipe closes.
        let _ = self.stop();
    }
}

fn postmaster(shell: &mut Child) -> Result<Pid, ServerError> {
    let output = shell.stdout.take().ok_or_else(|| lost("read the server's process id"))?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).map_err(ServerError::io("read the server's process id"))?;
    line.trim().parse().ok().and_then(Pid::from_raw).ok_or_else(|| lost("read the server's process id"))
}

fn lost(doing: &str) -> ServerError {
    ServerError::io(doing)(std::io::Error::other("the supervising shell did not do its part"))
}
