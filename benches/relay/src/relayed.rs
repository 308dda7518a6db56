//! The relay's turn: a backlog of committed events, a worker that begins, and the moment when the last job is settled behind its confirm.

use std::time::{Duration, Instant};

use outbox::{Outbox, Profile};
use outbox_relay::Relay;
use sqlx::PgPool;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::database::Database;
use crate::messages::{OrderPlaced, WINDOW};
use crate::side::{Side, Way};

outbox_relay::relay!("bench.relay", event = "order.*", transport = Way);

/// Events of one transaction of the backlog.
const CHUNK: usize = 5_000;
/// Longest turn.
const PATIENCE: Duration = Duration::from_mins(10);
/// Between two looks at what is in memory.
const GLANCE: Duration = Duration::from_millis(2);

/// Seconds from the worker's beginning until every event was confirmed and its job settled.
pub(crate) async fn measure(database: &Database, side: &impl Side, events: u32) -> anyhow::Result<f64> {
    side.renew().await?;
    let pool = database.renew().await?;
    let window = u32::try_from(WINDOW)?;
    let relay = Relay::builder(side.transport().await?, "/bench").prefix("bench").window(window).build()?;
    let outbox = builder(&pool).state(relay.clone()).build().await?;
    outbox.run(backfilled(&pool)).await?;
    publish(&outbox, events).await?;
    database.settle(&pool).await?;
    let (stop, stopped) = oneshot::channel::<()>();
    let worker = {
        let outbox = outbox.clone();
        async move { outbox.run(async { drop(stopped.await) }).await }
    };
    let began = Instant::now();
    let worker = tokio::spawn(worker);
    let settled = async {
        while relay.status().confirmed < u64::from(events) || !are_settled(&pool, events).await? {
            sleep(GLANCE).await;
        }
        anyhow::Ok(began.elapsed().as_secs_f64())
    };
    let seconds = timeout(PATIENCE, settled).await??;
    drop(stop);
    worker.await??;
    side.until_stored(events).await?;
    pool.close().await;
    Ok(seconds)
}

/// What a user sets whose events are many.
fn builder(pool: &PgPool) -> outbox::OutboxBuilder {
    Outbox::builder(pool.clone()).profile(Profile::high_throughput())
}

/// A subscriber that has just been declared looks for the jobs that it lacks, once in its life. That is behind it, as it is wherever a relay
/// has run before.
async fn backfilled(pool: &PgPool) {
    let fresh = "select exists (select from system.subscription where kind = 'event' and backfilled_at is null)";
    while sqlx::query_scalar(fresh).fetch_one(pool).await.unwrap_or(true) {
        sleep(GLANCE).await;
    }
}

async fn publish(outbox: &Outbox, events: u32) -> anyhow::Result<()> {
    let events: Vec<_> = (0..i64::from(events)).map(OrderPlaced::number).collect();
    for chunk in events.chunks(CHUNK) {
        let mut tx = outbox.begin().await?;
        outbox.publish_all(&mut tx, chunk).await?;
        tx.commit().await?;
    }
    Ok(())
}

async fn are_settled(pool: &PgPool, events: u32) -> anyhow::Result<bool> {
    let settled: i64 = sqlx::query_scalar("select count(*) from system.job_succeeded").fetch_one(pool).await?;
    Ok(settled >= i64::from(events))
}
