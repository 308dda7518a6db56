//! Takes every connection of this process's own pool, as handlers that leak them would.

use std::time::Duration;

use anyhow::Context as _;
use outbox_testing::fault::FullPool;
use sqlx::PgPool;

use super::Opened;
use crate::clock::Monotonic;
use crate::ledger::{Entry, Ledger};

/// Starts what is to come; what has passed before this process was there is over.
pub(super) fn start(opened: &Opened) -> anyhow::Result<()> {
    let now = Monotonic::now();
    for text in &opened.node.starvations {
        let (at, lasts) = parsed(text).with_context(|| format!("`{text}`"))?;
        let at = opened.began().plus(at);
        if at > now {
            let wait = Duration::from_nanos(at.0 - now.0);
            tokio::spawn(starve(opened.pool.clone(), opened.ledger.clone(), wait, lasts));
        }
    }
    Ok(())
}

async fn starve(pool: PgPool, ledger: Ledger, wait: Duration, lasts: Duration) {
    tokio::time::sleep(wait).await;
    match FullPool::take(&pool).await {
        Ok(taken) => {
            tokio::time::sleep(lasts).await;
            drop(taken);
            ledger.say(Entry::Starved);
        }
        Err(error) => tracing::info!(%error, "the pool does not give its connections"),
    }
}

fn parsed(text: &str) -> Option<(Duration, Duration)> {
    let (at, lasts) = text.split_once('+')?;
    Some((Duration::from_millis(at.parse().ok()?), Duration::from_millis(lasts.parse().ok()?)))
}
