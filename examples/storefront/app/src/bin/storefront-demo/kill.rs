//! Killing a worker while it holds jobs.

use std::time::Duration;

use rustix::process::Signal;
use serde::Serialize;
use sqlx::PgPool;

use crate::child::Child;
use crate::tables;

/// How long the server may take to finish what a stopped worker had sent.
const SETTLES: Duration = Duration::from_millis(25);

/// A worker that was killed.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Killed {
    pub(crate) name: String,
    pub(crate) pid: u32,
    /// Jobs that it held at that moment.
    pub(crate) held: u64,
    /// Jobs that were settled by then, by all workers.
    pub(crate) settled: u64,
    /// The fraction of all jobs that this is.
    pub(crate) at: f64,
}

/// Kills the worker, if it holds jobs right now; else it is let go on.
///
/// It is stopped first, so that what is counted is what it dies with. To the database a stopped process and a dead one look
/// the same, until the connections break.
pub(crate) async fn kill_while_it_holds_jobs(worker: &mut Child, pool: &PgPool) -> anyhow::Result<Option<(u32, u64)>> {
    let Some(pid) = worker.pid() else { return Ok(None) };
    worker.signal(Signal::STOP)?;
    let held = held_for_good(worker, pool).await;
    if let Ok(held @ 1..) = held {
        worker.kill().await?;
        return Ok(Some((pid, held)));
    }
    worker.signal(Signal::CONT)?;
    held?;
    Ok(None)
}

/// Counted until it stays the same: a statement that was under way when the worker stopped still takes its effect.
async fn held_for_good(worker: &Child, pool: &PgPool) -> Result<u64, sqlx::Error> {
    let mut before = tables::held(pool, worker.name()).await?;
    loop {
        tokio::time::sleep(SETTLES).await;
        let held = tables::held(pool, worker.name()).await?;
        if held == before {
            return Ok(held);
        }
        before = held;
    }
}
