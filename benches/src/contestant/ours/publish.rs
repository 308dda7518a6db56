//! publish: one event a transaction, from several tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use outbox::{Outbox, Profile};
use tokio::task::JoinSet;

use super::super::order::{HANDLERS, OrderPlaced};
use super::super::{Cue, Settings, database, pool};
use crate::protocol::Done;

/// Transactions of each task before it counts.
const WARM_UP: u64 = 20;

pub(in super::super) async fn publish(cue: Cue, settings: &Settings) -> anyhow::Result<()> {
    let (events, connections) = (settings.number("events")?, settings.small("connections")?);
    let pool = pool(database()?, connections).await?;
    outbox::migrate(&pool).await?;
    let outbox = Outbox::builder(pool).profile(Profile::high_throughput()).build().await?;
    run(&outbox, connections, WARM_UP * u64::from(connections)).await?;
    cue.ready().await?;
    let began = Instant::now();
    run(&outbox, connections, events).await?;
    let seconds = began.elapsed().as_secs_f64();
    cue.done(Done { seconds, jobs: events * HANDLERS.len() as u64, events: Some(events), ..Done::default() }).await
}

async fn run(outbox: &Outbox, tasks: u32, events: u64) -> anyhow::Result<()> {
    let next = Arc::new(AtomicU64::new(0));
    let mut publishers = JoinSet::new();
    for _ in 0..tasks {
        let (outbox, next) = (outbox.clone(), Arc::clone(&next));
        publishers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= events {
                    return Ok(());
                }
                place(&outbox, &OrderPlaced::numbered(number)).await?;
            }
        });
    }
    publishers.join_all().await.into_iter().collect()
}

async fn place(outbox: &Outbox, order: &OrderPlaced) -> anyhow::Result<()> {
    let mut tx = outbox.begin().await?;
    outbox.publish(&mut tx, order).await?;
    Ok(tx.commit().await?)
}
