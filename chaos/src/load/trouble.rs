//! Handlers that behave badly, a job each.

use std::time::Duration;

use outbox::prelude::*;
use sqlx::PgPool;

use super::parcel::{Fate, effect};
use super::seen::Seen;
use crate::clock::Wall;

/// Panics as often as it is to fail.
#[job("trouble.panics")]
#[derive(Debug)]
pub struct Panics {
    /// Which one.
    pub label: String,
    /// What it does.
    pub fate: Fate,
}

#[subscriber(job = "trouble.panics", idempotent = "it does nothing", max_attempts = 12, backoff = fixed("50ms"))]
async fn panics(it: Panics, seen: Seen) -> HandlerResult {
    assert!(seen.attempt > it.fate.fails, "it panics, as it is meant to");
    seen.ended(Ok(()))
}

/// Takes longer than it may, as often as it is to fail.
#[job("trouble.times_out")]
#[derive(Debug)]
pub struct TimesOut {
    /// Which one.
    pub label: String,
    /// What it does.
    pub fate: Fate,
}

#[subscriber(job = "trouble.times_out", idempotent = "it does nothing", max_attempts = 12, backoff = fixed("50ms"), timeout = "200ms")]
async fn times_out(it: TimesOut, seen: Seen) -> HandlerResult {
    if seen.attempt <= it.fate.fails {
        std::future::pending::<()>().await;
    }
    seen.ended(Ok(()))
}

/// Blocks its thread.
#[job("trouble.blocks")]
#[derive(Debug)]
pub struct Blocks {
    /// Which one.
    pub label: String,
    /// How long.
    pub fate: Fate,
}

#[subscriber(job = "trouble.blocks", idempotent = "it does nothing", max_attempts = 12, backoff = fixed("50ms"), concurrency = 1)]
async fn blocks(it: Blocks, seen: Seen) -> HandlerResult {
    std::thread::sleep(Duration::from_millis(it.fate.takes));
    seen.ended(Ok(()))
}

/// Puts itself off until a moment has come.
#[job("trouble.snoozes")]
#[derive(Debug)]
pub struct Snoozes {
    /// Which one.
    pub label: String,
    /// Until when.
    pub until: Wall,
}

#[subscriber(job = "trouble.snoozes", idempotent = "it does nothing", max_attempts = 12, backoff = fixed("50ms"))]
async fn snoozes(it: Snoozes, seen: Seen) -> HandlerResult {
    let outcome = if Wall::now() < it.until {
        Err(Failure::snooze(Duration::from_millis(300), "not yet").into())
    } else {
        Ok(())
    };
    seen.ended(outcome)
}

/// Ends its process, until somebody pardons it.
#[job("trouble.aborts")]
#[derive(Debug)]
pub struct Aborts {
    /// Which one.
    pub label: String,
}

#[subscriber(job = "trouble.aborts", idempotent = "it does nothing", max_attempts = 12, backoff = fixed("50ms"))]
async fn aborts(_: Aborts, seen: Seen, State(pool): State<PgPool>) -> Result<(), sqlx::Error> {
    let outcome = is_pardoned(&pool, &seen).await.map(|pardoned| {
        if !pardoned {
            std::process::abort();
        }
    });
    seen.ended(outcome)
}

/// Outlives its lease many times over, unless it is asked to stop.
#[job("trouble.lasts")]
#[derive(Debug)]
pub struct Lasts {
    /// Which one.
    pub label: String,
    /// How long.
    pub fate: Fate,
}

#[subscriber(job = "trouble.lasts", idempotent = "it does nothing", max_attempts = 12, backoff = fixed("50ms"))]
async fn lasts(it: Lasts, seen: Seen, cancellation: Cancellation) -> HandlerResult {
    let outcome = tokio::select! {
        () = cancellation.cancelled() => Err("stopped early".into()),
        () = tokio::time::sleep(Duration::from_millis(it.fate.takes)) => Ok(()),
    };
    seen.ended(outcome)
}

/// Has its effect and fails, every time, until somebody pardons it.
#[job("trouble.hopeless")]
#[derive(Debug)]
pub struct Hopeless {
    /// Which one.
    pub label: String,
}

#[subscriber(job = "trouble.hopeless", max_attempts = 3, backoff = fixed("50ms"))]
async fn hopeless(_: Hopeless, mut tx: Tx<'_>, seen: Seen) -> HandlerResult {
    let outcome = async {
        effect(&mut tx, "trouble.hopeless", &seen).await?;
        if is_pardoned(&mut *tx, &seen).await? { Ok(()) } else { Err("hopeless".into()) }
    };
    let outcome = outcome.await;
    seen.ended(outcome)
}

/// Fails for good.
#[job("trouble.quarantined")]
#[derive(Debug)]
pub struct Quarantined {
    /// Which one.
    pub label: String,
}

#[subscriber(job = "trouble.quarantined", idempotent = "it does nothing", max_attempts = 12, backoff = fixed("50ms"))]
async fn quarantined(_: Quarantined, seen: Seen) -> HandlerResult {
    seen.ended(Err(Failure::quarantine("no retry will help").into()))
}

async fn is_pardoned(executor: impl sqlx::PgExecutor<'_>, seen: &Seen) -> Result<bool, sqlx::Error> {
    let text = "select exists (select from chaos.pardon where source = $1)";
    sqlx::query_scalar(text).bind(seen.source).fetch_one(executor).await
}
