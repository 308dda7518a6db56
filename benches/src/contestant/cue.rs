//! The contestant's side of the protocol.

use std::io::{Read as _, Write as _};

use crate::protocol::{Done, GO, Introduction, Said};

/// Waits for its cue and says what was done.
#[derive(Debug)]
pub(super) struct Cue;

impl Cue {
    /// Everything is prepared: says so, and waits for `go`.
    pub(super) async fn ready(&self) -> anyhow::Result<()> {
        say(&Said::Ready(Introduction::default()))?;
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            std::io::stdin().read_line(&mut line).map(|_| line)
        });
        let line = line.await??;
        anyhow::ensure!(line.trim() == GO, "`{}` is not `{GO}`", line.trim());
        Ok(())
    }

    /// Says what was done, and stays until the conductor has read what it wants to.
    pub(super) async fn done(&self, done: Done) -> anyhow::Result<()> {
        say(&Said::Done(done))?;
        tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
        Ok(())
    }
}

fn say(said: &Said) -> anyhow::Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", serde_json::to_string(said)?)?;
    Ok(output.flush()?)
}
