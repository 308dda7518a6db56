//! Killing a service in the middle.

use std::time::{Duration, Instant};

use anyhow::bail;
use rustix::process::Signal;
use sqlx::PgPool;

use crate::child::Child;
use crate::tables::number;

/// How long the server may take to finish what a stopped service had sent.
const SETTLES: Duration = Duration::from_millis(25);
/// How long it may go on without a job in hand.
const PATIENCE: Duration = Duration::from_secs(30);
const HELD: &str = "select count(*) from system.job_live where status = 'running'";

/// `SIGKILL`, at a moment when it holds jobs. Answers how many: nobody else works on its database.
///
/// It is stopped first, so that what is counted is what it dies with. To the database a stopped process and a dead one look the same, until the
/// connections break.
pub(crate) async fn kill_while_it_holds_jobs(service: &mut Child, pool: &PgPool) -> anyhow::Result<i64> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        service.signal(Signal::STOP)?;
        let held = held_for_good(pool).await?;
        if held > 0 {
            service.kill().await?;
            return Ok(held);
        }
        service.signal(Signal::CONT)?;
        tokio::time::sleep(SETTLES).await;
    }
    bail!("{} had no job in hand for {PATIENCE:?}", service.name())
}

/// Counted until it stays the same: a statement that was under way when the service stopped still takes its effect.
async fn held_for_good(pool: &PgPool) -> anyhow::Result<i64> {
    let mut before = number(pool, HELD).await?;
    loop {
        tokio::time::sleep(SETTLES).await;
        let held = number(pool, HELD).await?;
        if held == before {
            return Ok(held);
        }
        before = held;
    }
}
