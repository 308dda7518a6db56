//! One event and its jobs a transaction, by a program that knows the subscribers and makes all ids.

use sqlx::PgConnection;
use uuid::Uuid;

use super::super::order::{HANDLERS, OrderPlaced};
use super::super::{Cue, Settings};
use super::transactions::{self, Statement};

pub(in super::super) async fn publish(cue: Cue, settings: &Settings) -> anyhow::Result<()> {
    transactions::publish(cue, settings, Statement::Bare).await
}

pub(super) async fn insert(connection: &mut PgConnection, order: &OrderPlaced) -> anyhow::Result<()> {
    let event = super::id();
    sqlx::query(include_str!("bare_event.sql"))
        .bind(event)
        .bind(order.subject())
        .bind(serde_json::to_string(order)?)
        .execute(&mut *connection)
        .await?;
    let ids: Vec<Uuid> = HANDLERS.iter().map(|_| super::id()).collect();
    sqlx::query(include_str!("bare_jobs.sql"))
        .bind(ids)
        .bind(event)
        .bind(HANDLERS.as_slice())
        .execute(connection)
        .await?;
    Ok(())
}
