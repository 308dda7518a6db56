//! One event and its jobs a transaction, in one statement that reads from the catalogue who subscribes.

use sqlx::PgConnection;

use super::super::order::OrderPlaced;
use super::super::{Cue, Settings};
use super::transactions::{self, Statement};

/// All that mean this event.
const PATTERNS: [&str; 3] = ["order.placed", "order.*", "*"];

pub(in super::super) async fn publish(cue: Cue, settings: &Settings) -> anyhow::Result<()> {
    transactions::publish(cue, settings, Statement::Catalogue).await
}

pub(super) async fn insert(connection: &mut PgConnection, order: &OrderPlaced) -> anyhow::Result<()> {
    sqlx::query(include_str!("publish.sql"))
        .bind(super::id())
        .bind(order.subject())
        .bind(serde_json::to_string(order)?)
        .bind(PATTERNS.as_slice())
        .execute(connection)
        .await?;
    Ok(())
}
