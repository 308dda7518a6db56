//! failed: the jobs that ended badly, for a person to look at, mend and redrive.

use chrono::{DateTime, Utc};
use outbox_core::{EventId, JobId};
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::Statements;

/// A job that ended badly. It stays until it is redriven, or its own long age removes it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FailedJob {
    /// Its id, which `redrive` takes.
    pub id: JobId,
    /// The event that caused it, if one did.
    pub event_id: Option<EventId>,
    /// Stored name of its handler.
    pub handler: String,
    /// Name of the event, or of the job.
    pub message: String,
    /// Version of the payload.
    pub version: u32,
    /// Why it ended: exhausted, crashed, quarantined, cancelled, expired, or unknown, which is parked.
    pub reason: String,
    /// The last error's source chain.
    pub last_error: Option<String>,
    /// Executions begun.
    pub attempts: u32,
    /// Executions allowed.
    pub max_attempts: u32,
    /// How often its process died while it was held.
    pub crashes: u32,
    /// When it was written.
    pub created_at: DateTime<Utc>,
    /// When it ended.
    pub failed_at: DateTime<Utc>,
}

pub(crate) async fn failed(
    connection: &mut PgConnection,
    statements: &Statements,
    handler: Option<&str>,
    most: u32,
) -> Result<Vec<FailedJob>, sqlx::Error> {
    let most = i32::try_from(most).unwrap_or(i32::MAX);
    let query = sqlx::query(statements.failed.text()).bind(handler).bind(most).bind(None::<Vec<Uuid>>);
    query.fetch_all(connection).await?.iter().map(read).collect()
}

/// Those of `ids` that are failed.
pub(crate) async fn those(
    connection: &mut PgConnection,
    statements: &Statements,
    ids: &[Uuid],
) -> Result<Vec<FailedJob>, sqlx::Error> {
    let query = sqlx::query(statements.failed.text()).bind(None::<String>).bind(i32::MAX).bind(ids);
    query.fetch_all(connection).await?.iter().map(read).collect()
}

pub(super) fn read(row: &sqlx::postgres::PgRow) -> Result<FailedJob, sqlx::Error> {
    let unsigned = |value: i32| u32::try_from(value).unwrap_or(0);
    Ok(FailedJob {
        id: row.try_get::<Uuid, _>(0)?.into(),
        event_id: row.try_get::<Option<Uuid>, _>(1)?.map(EventId::from),
        handler: row.try_get(2)?,
        reason: row.try_get::<Option<String>, _>(3)?.unwrap_or_default(),
        last_error: row.try_get(4)?,
        attempts: unsigned(row.try_get(5)?),
        max_attempts: unsigned(row.try_get(6)?),
        crashes: unsigned(row.try_get(7)?),
        created_at: row.try_get(8)?,
        failed_at: row.try_get(9)?,
        message: row.try_get(10)?,
        version: unsigned(row.try_get(11)?),
    })
}
