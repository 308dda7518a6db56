//! Reading the audit.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::PgPool;
use uuid::Uuid;

use crate::ids::ProjectId;

/// One row of the audit, with the name of who did it.
#[derive(Debug, Clone, Serialize, sqlx::FromRow)]
pub struct Entry {
    /// The event that it tells of.
    pub event_id: Uuid,
    /// The event's name.
    pub action_type: String,
    /// Who: a user's name, or a service as `webhook:git`.
    pub actor: Option<String>,
    /// To what.
    pub resource_type: String,
    /// To which one.
    pub resource_id: Option<String>,
    /// Whether an incoming webhook has caused it.
    pub via_webhook: bool,
    /// What the event says.
    pub payload: serde_json::Value,
    /// When.
    pub occurred_at: DateTime<Utc>,
}

/// The newest rows of a project, at most `most`.
///
/// # Errors
/// When the database does.
pub async fn trail(pool: &PgPool, project: ProjectId, most: i64) -> Result<Vec<Entry>, sqlx::Error> {
    sqlx::query_as(include_str!("trail.sql")).bind(project).bind(most).fetch_all(pool).await
}
