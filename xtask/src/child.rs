//! A child process that does not outlive its purpose.

use std::io::Result;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

/// A running child, ended on drop if it has not ended by then.
pub(crate) struct Running(Child);

impl Running {
    /// Starts it.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        command.spawn().map(Self)
    }

    /// The standard library's handle, for its pipes.
    pub(crate) fn handle(&mut self) -> &mut Child {
        &mut self.0
    }

    /// Waits until it ends.
    pub(crate) fn wait(&mut self) -> Result<ExitStatus> {
        self.0.wait()
    }

    /// Waits until it ends; `None` when it still runs after `limit`.
    pub(crate) fn wait_for(&mut self, limit: Duration) -> Result<Option<ExitStatus>> {
        let deadline = Instant::now() + limit;
        loop {
            let ended = self.0.try_wait()?;
            if ended.is_some() || Instant::now() >= deadline {
                return Ok(ended);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Either fails only when it has ended already. The standard library never signals a child that was reaped.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Passes a child's end on as our own; a child that was killed is a failure.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}
