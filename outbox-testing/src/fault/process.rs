//! A process that can be frozen and killed, and that says where it is.

use std::io::{BufRead as _, BufReader, Error, Result};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::eventually::DEADLINE;

/// How often a child is looked at, whose end nothing announces.
const GLANCE: Duration = Duration::from_millis(5);

/// A child process. Killed when it is dropped.
///
/// It says where it is by lines on its standard output, its *markers*:
///
/// ```no_run
/// use std::process::Command;
/// use outbox_testing::fault::Process;
///
/// # async fn example() -> std::io::Result<()> {
/// let worker = Process::spawn(Command::new("target/debug/worker").env("DATABASE_URL", "postgres://.."))?;
/// worker.until("ready").await;
/// worker.freeze()?; // its lease ends, and others take over
/// worker.thaw()?; // whatever it still writes is refused
/// worker.terminate()?;
/// assert!(worker.ended().await.success());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Process {
    handle: ProcessHandle,
    lines: watch::Receiver<Vec<String>>,
}

impl Process {
    /// Starts a process. Its standard output is ours from here on.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn spawn(command: &mut Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let (said, lines) = watch::channel(Vec::new());
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    said.send_modify(|lines: &mut Vec<String>| lines.push(line));
                }
            });
        }
        Ok(Self { handle: ProcessHandle(Arc::new(Mutex::new(child))), lines })
    }

    /// Something that can signal this process, for the callback of a point.
    #[must_use]
    pub fn handle(&self) -> ProcessHandle {
        self.handle.clone()
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.handle.child().id()
    }

    /// `SIGSTOP`: it does nothing any more, and its connections stay open. Returns when it has stopped.
    ///
    /// # Errors
    /// When it has ended.
    pub fn freeze(&self) -> Result<()> {
        self.handle.freeze()
    }

    /// `SIGCONT`: it goes on as if nothing had been.
    ///
    /// # Errors
    /// When it has ended.
    pub fn thaw(&self) -> Result<()> {
        self.handle.signal(Signal::CONT)
    }

    /// `SIGTERM`: it is asked to end.
    ///
    /// # Errors
    /// When it has ended.
    pub fn terminate(&self) -> Result<()> {
        self.handle.signal(Signal::TERM)
    }

    /// `SIGKILL`: it ends at once, also when it is frozen. Returns when it is gone.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub fn kill(&self) -> Result<()> {
        self.handle.kill()
    }

    /// Every line that it has said.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.lines.borrow().clone()
    }

    /// How many of its lines end so. (The harness of `cargo test` leaves a line open, and a marker may stand behind it.)
    #[must_use]
    pub fn heard(&self, marker: &str) -> usize {
        count(&self.lines.borrow(), marker)
    }

    /// Waits until it has said a line that ends so.
    ///
    /// # Panics
    /// When that takes longer than [`DEADLINE`], or when it ends before; the message holds what it said instead.
    pub async fn until(&self, marker: &str) {
        self.until_times(marker, 1).await;
    }

    /// Waits until it has said that many lines that end so.
    ///
    /// # Panics
    /// As [`until`](Self::until).
    pub async fn until_times(&self, marker: &str, times: usize) {
        let mut lines = self.lines.clone();
        let heard = timeout(DEADLINE, lines.wait_for(|lines| count(lines, marker) >= times)).await;
        let heard = heard.is_ok_and(|heard| heard.is_ok());
        assert!(heard, "the process did not say `{marker}` {times} times within {DEADLINE:?}, but {:#?}", self.lines());
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn try_ended(&self) -> Result<Option<ExitStatus>> {
        self.handle.child().try_wait()
    }

    /// Waits until it has ended.
    ///
    /// # Panics
    /// When that takes longer than [`DEADLINE`].
    pub async fn ended(&self) -> ExitStatus {
        match self.ended_within(DEADLINE).await {
            Ok(Some(status)) => status,
            other => panic!("the process did not end within {DEADLINE:?}: {other:?}"),
        }
    }

    /// Waits until it has ended; `None` when it has not after `limit`.
    ///
    /// # Errors
    /// When the system does not tell.
    pub async fn ended_within(&self, limit: Duration) -> Result<Option<ExitStatus>> {
        let deadline = Instant::now() + limit;
        loop {
            let ended = self.try_ended()?;
            if ended.is_some() || Instant::now() >= deadline {
                return Ok(ended);
            }
            sleep(GLANCE).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.handle.kill();
    }
}

/// Signals a [`Process`] from elsewhere. It does not keep the process alive.
#[derive(Clone, Debug)]
pub struct ProcessHandle(Arc<Mutex<Child>>);

impl ProcessHandle {
    /// As [`Process::freeze`].
    ///
    /// # Errors
    /// When it has ended.
    pub fn freeze(&self) -> Result<()> {
        self.signal(Signal::STOP)?;
        let pid = pid(&self.child())?;
        // Left where it is, so that the child can still be waited for.
        waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
        Ok(())
    }

    /// As [`Process::kill`].
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub fn kill(&self) -> Result<()> {
        let mut child = self.child();
        child.kill()?;
        child.wait().map(drop)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let mut child = self.child();
        // Its id is its own until it has been waited for, which nobody can do meanwhile.
        if let Some(status) = child.try_wait()? {
            return Err(Error::other(format!("the process has ended: {status}")));
        }
        Ok(kill_process(pid(&child)?, signal)?)
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pid(child: &Child) -> Result<Pid> {
    Pid::from_raw(child.id().cast_signed()).ok_or_else(|| Error::other("a process has an id"))
}

fn count(lines: &[String], marker: &str) -> usize {
    lines.iter().filter(|line| line.ends_with(marker)).count()
}
