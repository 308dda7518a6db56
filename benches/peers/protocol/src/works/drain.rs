//! A backlog worked off by a handler that does nothing.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::arguments::Arguments;
use crate::dialogue::Done;
use crate::{Peer, handled, works};

pub(super) async fn run<P: Peer>(peer: P, arguments: &Arguments) -> Result<Done> {
    let jobs = arguments.number("jobs").unwrap_or(100_000);
    peer.bulk(0..jobs).await?;
    peer.analyze().await?;
    let mut last = handled::count(jobs);
    works::ready::<P>()?;
    let start = Instant::now();
    peer.work().await?;
    last.recv().await.context("the worker ended before the last job")?;
    completed(&peer).await?;
    Ok(Done { seconds: start.elapsed().as_secs_f64(), jobs, runs: Some(handled::runs()), ..Done::default() })
}

/// Waits until the database holds nothing that is not completed. Asked only after the last handler has run, so that the question
/// takes nothing from the work.
pub(super) async fn completed<P: Peer>(peer: &P) -> Result<()> {
    while peer.unfinished().await? > 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}
