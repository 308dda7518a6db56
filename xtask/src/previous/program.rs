//! A program that runs, and what it says.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::child::Running;

/// Longest wait for a line, and for an end.
const PATIENCE: Duration = Duration::from_secs(90);

pub(super) struct Program {
    running: Mutex<Running>,
    lines: Receiver<String>,
    said: Mutex<Vec<String>>,
    call: String,
}

impl Program {
    pub(super) fn start(file: &Path, arguments: &[&str], url: &str) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(file);
        let mut running = Running::start(
            command.args(arguments).env("DATABASE_URL", url).stdin(Stdio::null()).stdout(Stdio::piped()),
        )?;
        let output = running.handle().stdout.take().ok_or("the program has no output")?;
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    break;
                }
            }
        });
        let call = format!("{} {}", file.display(), arguments.join(" "));
        Ok(Self { running: Mutex::new(running), lines, said: Mutex::default(), call })
    }

    /// Waits until it has said this.
    pub(super) fn until(&self, line: &str) -> Result<(), Box<dyn Error>> {
        let deadline = Instant::now() + PATIENCE;
        while !self.said().iter().any(|said| said == line) {
            let next = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()));
            self.said().push(next.map_err(|_| format!("`{}` did not say `{line}`", self.call))?);
        }
        Ok(())
    }

    /// How many lines it has said so far that begin so.
    pub(super) fn heard(&self, beginning: &str) -> usize {
        let mut said = self.said();
        said.extend(self.lines.try_iter());
        said.iter().filter(|line| line.starts_with(beginning)).count()
    }

    /// Waits until it has ended; answers its last line.
    pub(super) fn has_ended_well(&self) -> Result<String, Box<dyn Error>> {
        let ended = self.running.lock().unwrap_or_else(PoisonError::into_inner).wait_for(PATIENCE)?;
        let ended = ended.ok_or_else(|| format!("`{}` does not end", self.call))?;
        if !ended.success() {
            return Err(format!("`{}` ended with {ended}", self.call).into());
        }
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.said().push(line),
                Err(RecvTimeoutError::Disconnected) => return Ok(self.said().last().cloned().unwrap_or_default()),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("`{}` has ended and still speaks", self.call).into());
                }
            }
        }
    }

    /// Asks it to end, and sees that it does so in order.
    pub(super) fn end_in_order(&self) -> Result<(), Box<dyn Error>> {
        let id = self.running.lock().unwrap_or_else(PoisonError::into_inner).handle().id();
        let pid = Pid::from_raw(id.cast_signed()).ok_or("a process has an id")?;
        kill_process(pid, Signal::TERM)?;
        self.until("ended in order")?;
        self.has_ended_well().map(drop)
    }

    /// Ends it as a crash does.
    pub(super) fn kill(&self) -> Result<(), Box<dyn Error>> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.handle().kill()?;
        running.wait()?;
        Ok(())
    }

    fn said(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
