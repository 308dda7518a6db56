//! Handlers that take the transaction.

use std::time::Instant;

use outbox::{Outbox, Profile};
use sqlx::Executor as _;

use super::super::order::{ENTRIES, TILL};
use super::super::seed::{self, Kind};
use super::super::tally::TALLY;
use super::super::{Cue, Settings, database, limit, pool};
use crate::protocol::Done;

pub(in super::super) async fn tx_drain(cue: Cue, settings: &Settings) -> anyhow::Result<()> {
    let (jobs, connections) = (settings.number("jobs")?, settings.small("connections")?);
    let batch = settings.small("batch")?;
    seed::jobs(Kind::Credits, jobs).await?;
    let pool = pool(database()?, connections).await?;
    pool.execute(ENTRIES).await?;
    let profile = Profile::high_throughput();
    let outbox = Outbox::builder(pool.clone()).modules([TILL]).profile(profile).concurrency(connections).batch(batch);
    let outbox = outbox.build().await?;
    cue.ready().await?;
    let began = Instant::now();
    TALLY.begin(jobs);
    outbox.run(TALLY.completed()).await?;
    let seconds = began.elapsed().as_secs_f64();
    limit::drain::all_succeeded(&pool, jobs).await?;
    cue.done(Done { seconds, jobs, steps: TALLY.steps(), ..Done::default() }).await
}
