//! Many short transactions, from as many tasks as there are connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use sqlx::PgPool;
use tokio::task::JoinSet;

use super::super::order::{HANDLERS, OrderPlaced};
use super::super::{Cue, Settings};
use super::{bare, publish};
use crate::protocol::Done;

/// Transactions of each task before it counts.
const WARM_UP: u64 = 20;

/// What a transaction holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Statement {
    Catalogue,
    Bare,
}

pub(super) async fn publish(cue: Cue, settings: &Settings, statement: Statement) -> anyhow::Result<()> {
    let (events, connections) = (settings.number("events")?, settings.small("connections")?);
    let pool = super::prepared(connections).await?;
    run(&pool, connections, WARM_UP * u64::from(connections), statement).await?;
    cue.ready().await?;
    let began = Instant::now();
    run(&pool, connections, events, statement).await?;
    let seconds = began.elapsed().as_secs_f64();
    cue.done(Done { seconds, jobs: events * HANDLERS.len() as u64, events: Some(events), ..Done::default() }).await
}

async fn run(pool: &PgPool, tasks: u32, events: u64, statement: Statement) -> anyhow::Result<()> {
    let next = Arc::new(AtomicU64::new(0));
    let mut publishers = JoinSet::new();
    for _ in 0..tasks {
        let (pool, next) = (pool.clone(), Arc::clone(&next));
        publishers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= events {
                    return anyhow::Ok(());
                }
                let order = OrderPlaced::numbered(number);
                let mut tx = pool.begin().await?;
                match statement {
                    Statement::Catalogue => publish::insert(&mut tx, &order).await?,
                    Statement::Bare => bare::insert(&mut tx, &order).await?,
                }
                tx.commit().await?;
            }
        });
    }
    publishers.join_all().await.into_iter().collect()
}
