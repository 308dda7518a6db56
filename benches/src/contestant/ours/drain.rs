//! drain: workers with a backlog, until the last job is settled and they have ended in good order.

use std::time::Instant;

use outbox::{Outbox, Profile};
use tokio::task::JoinSet;

use super::super::order::DESK;
use super::super::seed::{self, Kind};
use super::super::tally::TALLY;
use super::super::{Crowd, Cue, Settings, database, limit, pool};
use crate::protocol::Done;

/// What a user with many short jobs sets: handlers that wait for nothing need few slots, and memory for two batches keeps them busy.
const CONCURRENCY: u32 = 64;
const BATCHES_AHEAD: u32 = 2;

pub(in super::super) async fn drain(cue: Cue, settings: &Settings, crowd: Crowd) -> anyhow::Result<()> {
    let (jobs, workers, batch) = (settings.number("jobs")?, settings.small("workers")?, settings.small("batch")?);
    seed::jobs(Kind::Orders, jobs).await?;
    let pool = pool(database()?, 2).await?;
    crowd.gather(&pool).await?;
    let mut outboxes = Vec::new();
    for number in 0..workers {
        let outbox = Outbox::builder(pool.clone())
            .name(format!("bench:{number}"))
            .modules([DESK])
            .profile(Profile::high_throughput())
            .concurrency(settings.small_or("concurrency", CONCURRENCY)?)
            .batch(batch)
            .prefetch(settings.small_or("prefetch", BATCHES_AHEAD * batch)?);
        outboxes.push(outbox.build().await?);
    }
    cue.ready().await?;
    let began = Instant::now();
    TALLY.begin(jobs);
    let mut running = JoinSet::new();
    for outbox in outboxes {
        running.spawn(async move { outbox.run(TALLY.completed()).await });
    }
    running.join_all().await.into_iter().collect::<Result<(), _>>()?;
    let seconds = began.elapsed().as_secs_f64();
    limit::drain::all_succeeded(&pool, jobs + crowd.finished).await?;
    cue.done(Done { seconds, jobs, steps: TALLY.steps(), ..Done::default() }).await
}
