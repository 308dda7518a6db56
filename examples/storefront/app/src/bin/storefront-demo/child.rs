//! The other roles, as processes of their own. None outlives the demonstration.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, Command};

use crate::narrator::Narrator;

/// How long a process has to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(15);

/// A running process. Dropping it ends it with SIGKILL.
#[derive(Debug)]
pub(crate) struct Child {
    name: String,
    process: tokio::process::Child,
    input: Option<ChildStdin>,
}

impl Child {
    /// Starts the program of this name that lies beside ours. What it complains of is told under its `name`.
    pub(crate) fn start(
        program: &str,
        name: &str,
        arguments: &[String],
        url: &str,
        narrator: &Arc<Narrator>,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(beside(program)?);
        command.args(arguments).env("DATABASE_URL", url).kill_on_drop(true);
        // A group of its own: Ctrl-C is for us, and we end the others in good order.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().with_context(|| format!("`{program}` cannot be started"))?;
        let (narrator, heading) = (Arc::clone(narrator), name.to_owned());
        if let Some(complaints) = process.stderr.take() {
            tokio::spawn(async move {
                let mut lines = BufReader::new(complaints).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    narrator.warn(&format!("{heading} | {line}"));
                }
            });
        }
        Ok(Self { name: name.to_owned(), input: process.stdin.take(), process })
    }

    /// Gives it all of its input.
    pub(crate) fn feed(&mut self, bytes: Vec<u8>) {
        if let Some(mut input) = self.input.take() {
            // One that ends before it has read everything says so by its exit code.
            tokio::spawn(async move { drop(input.write_all(&bytes).await) });
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its process id, until it was seen to end.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.process.id()
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.process.try_wait()?)
    }

    /// Stops it where it stands, or lets it go on.
    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        // The id is ours until the process was waited for, which this handle alone does.
        let pid = self.pid().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        let pid = pid.with_context(|| format!("{} has ended by itself", self.name))?;
        kill_process(pid, signal).with_context(|| format!("{} cannot be signalled", self.name))
    }

    /// Ends it with SIGKILL.
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        Ok(self.process.kill().await?)
    }

    /// Asks it to end, and waits until it has.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        self.signal(Signal::TERM)?;
        match tokio::time::timeout(PATIENCE, self.process.wait()).await {
            Ok(status) if status.as_ref().is_ok_and(ExitStatus::success) => Ok(()),
            Ok(status) => bail!("{} did not end in good order: {}", self.name, status?),
            Err(_) => bail!("{} does not end when it is asked to", self.name),
        }
    }
}

fn beside(program: &str) -> anyhow::Result<PathBuf> {
    let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::current_exe()?.with_file_name(file);
    if !path.is_file() {
        bail!(
            "`{program}` is not beside this program: build all of them with `cargo build -p storefront-app -p storefront-web`, \
             or run `cargo xtask demo`, which does"
        );
    }
    Ok(path)
}
