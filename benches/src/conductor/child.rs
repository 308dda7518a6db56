//! A contestant's process, and what it says.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::protocol::{self, Done, GO, Introduction, Said};

/// Longest wait for a contestant to be ready, and to be done: both are minutes where there are millions of jobs.
const PATIENCE: Duration = Duration::from_mins(20);
/// Longest wait for it to end when it is no longer needed.
const FAREWELL: Duration = Duration::from_secs(20);
const GLANCE: Duration = Duration::from_millis(10);

/// A contestant. Killed when it is dropped.
#[derive(Debug)]
pub(super) struct Contestant {
    child: Child,
    input: Option<ChildStdin>,
    said: mpsc::UnboundedReceiver<Said>,
}

impl Contestant {
    /// Starts it on a database.
    pub(super) fn start(mut command: Command, url: &str) -> anyhow::Result<Self> {
        command.env("DATABASE_URL", url).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("start {}", command.get_program().display()))?;
        let output = child.stdout.take().context("its output")?;
        let input = child.stdin.take();
        let (lines, said) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // Nobody listens any more: its output is read on, so that it does not stop at a full pipe.
                let _ = protocol::read(&line).map(|said| lines.send(said));
            }
        });
        Ok(Self { child, input, said })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it is prepared; what it says of itself.
    pub(super) async fn ready(&mut self) -> anyhow::Result<Introduction> {
        match self.hear().await? {
            Said::Ready(introduction) => Ok(introduction),
            Said::Done(_) => anyhow::bail!("it was done before it was told to go"),
        }
    }

    /// Tells it to begin.
    pub(super) fn go(&mut self) -> anyhow::Result<()> {
        writeln!(self.input.as_mut().context("its input")?, "{GO}").context("tell it to go")
    }

    /// Waits until it is done.
    pub(super) async fn done(&mut self) -> anyhow::Result<Done> {
        match self.hear().await? {
            Said::Done(done) => Ok(done),
            Said::Ready(_) => anyhow::bail!("it was ready twice"),
        }
    }

    /// Lets it end, and waits for that.
    pub(super) async fn end(mut self) -> anyhow::Result<()> {
        drop(self.input.take());
        let deadline = Instant::now() + FAREWELL;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                anyhow::ensure!(status.success(), "it ended with {status}");
                return Ok(());
            }
            sleep(GLANCE).await;
        }
        anyhow::bail!("it did not end within {FAREWELL:?} of the end of its input")
    }

    async fn hear(&mut self) -> anyhow::Result<Said> {
        let said = timeout(PATIENCE, self.said.recv()).await;
        said.with_context(|| format!("it said nothing for {PATIENCE:?}"))?.context("it ended without a word; see above")
    }
}

impl Drop for Contestant {
    fn drop(&mut self) {
        // Either fails only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Contestant {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Contestant::start(command, "postgres://nowhere").unwrap()
    }

    #[tokio::test]
    async fn any_program_that_keeps_the_protocol_takes_part() {
        let script = r#"echo hello; echo '{"ready":{}}'; read word; [ "$word" = go ] || exit 1
                        echo '{"done":{"seconds":2,"jobs":8}}'; cat"#;
        let mut contestant = shell(script);
        contestant.ready().await.unwrap();
        contestant.go().unwrap();
        let done = contestant.done().await.unwrap();
        assert_eq!((done.jobs, done.events), (8, None));
        contestant.end().await.unwrap();
    }

    #[tokio::test]
    async fn one_that_ends_early_or_speaks_out_of_turn_is_no_result() {
        assert!(shell("exit 3").ready().await.unwrap_err().to_string().contains("ended without a word"));
        let mut hasty = shell(r#"echo '{"done":{"seconds":2,"jobs":8}}'"#);
        assert!(hasty.ready().await.unwrap_err().to_string().contains("before it was told"));
        let mut failing = shell(r#"echo '{"ready":{}}'; read word; exit 3"#);
        failing.ready().await.unwrap();
        failing.go().unwrap();
        assert!(failing.end().await.unwrap_err().to_string().contains("exit status: 3"));
    }
}
