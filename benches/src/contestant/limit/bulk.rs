//! Many events and their jobs in one transaction, a thousand events a statement.

use std::time::Instant;

use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::super::order::{HANDLERS, OrderPlaced};
use super::super::{Cue, Settings};
use crate::protocol::Done;

/// Events of one statement, as ours has them.
const CHUNK: usize = 1_000;
/// Events of the transaction before it counts.
const WARM_UP: u64 = 100;

pub(in super::super) async fn bulk(cue: Cue, settings: &Settings) -> anyhow::Result<()> {
    let events = settings.number("events")?;
    let pool = super::prepared(1).await?;
    let orders: Vec<_> = (0..events).map(OrderPlaced::numbered).collect();
    let warm_up: Vec<_> = (0..WARM_UP).map(OrderPlaced::numbered).collect();
    insert_all(&pool, &warm_up).await?;
    cue.ready().await?;
    let began = Instant::now();
    insert_all(&pool, &orders).await?;
    let seconds = began.elapsed().as_secs_f64();
    cue.done(Done { seconds, jobs: events * HANDLERS.len() as u64, events: Some(events), ..Done::default() }).await
}

async fn insert_all(pool: &PgPool, orders: &[OrderPlaced]) -> anyhow::Result<()> {
    let mut tx = pool.begin().await?;
    for chunk in orders.chunks(CHUNK) {
        insert(&mut tx, chunk).await?;
    }
    Ok(tx.commit().await?)
}

async fn insert(connection: &mut PgConnection, orders: &[OrderPlaced]) -> anyhow::Result<()> {
    let ids: Vec<Uuid> = orders.iter().map(|_| super::id()).collect();
    sqlx::query(include_str!("bulk_events.sql"))
        .bind(&ids)
        .bind(orders.iter().map(OrderPlaced::subject).collect::<Vec<_>>())
        .bind(orders.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?)
        .execute(&mut *connection)
        .await?;
    let of_events: Vec<Uuid> = ids.iter().flat_map(|id| HANDLERS.map(|_| *id)).collect();
    let handlers: Vec<&str> = ids.iter().flat_map(|_| HANDLERS).collect();
    sqlx::query(include_str!("bulk_jobs.sql"))
        .bind(of_events.iter().map(|_| super::id()).collect::<Vec<_>>())
        .bind(of_events)
        .bind(handlers)
        .execute(connection)
        .await?;
    Ok(())
}
