//! bulk: many events in one transaction.

use std::time::Instant;

use outbox::{Outbox, Profile};

use super::super::order::{HANDLERS, OrderPlaced};
use super::super::{Cue, Settings, database, pool};
use crate::protocol::Done;

/// Events of the transaction before it counts.
const WARM_UP: u64 = 100;

pub(in super::super) async fn bulk(cue: Cue, settings: &Settings) -> anyhow::Result<()> {
    let events = settings.number("events")?;
    let pool = pool(database()?, 1).await?;
    outbox::migrate(&pool).await?;
    let outbox = Outbox::builder(pool).profile(Profile::high_throughput()).build().await?;
    let orders: Vec<_> = (0..events).map(OrderPlaced::numbered).collect();
    let warm_up: Vec<_> = (0..WARM_UP).map(OrderPlaced::numbered).collect();
    place_all(&outbox, &warm_up).await?;
    cue.ready().await?;
    let began = Instant::now();
    place_all(&outbox, &orders).await?;
    let seconds = began.elapsed().as_secs_f64();
    cue.done(Done { seconds, jobs: events * HANDLERS.len() as u64, events: Some(events), ..Done::default() }).await
}

async fn place_all(outbox: &Outbox, orders: &[OrderPlaced]) -> anyhow::Result<()> {
    let mut tx = outbox.begin().await?;
    outbox.publish_all(&mut tx, orders).await?;
    Ok(tx.commit().await?)
}
