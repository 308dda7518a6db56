//! parked, inspect: failed jobs with their message, for whoever has to judge what became of them.

use chrono::{DateTime, Utc};
use outbox_core::{Envelope, EventId, IdempotencyKey, JobId, Metadata, Payload, Subject};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Row as _};
use uuid::Uuid;

use super::failed::{self, FailedJob};
use super::{Statements, millis};
use crate::schema::Schema;

/// A failed job with all that is needed to ask the owner of its effect what became of it, or to see why it failed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The job: handler, reason, counters, last error. A parked one has the reason `unknown`, and is so since its `failed_at`.
    pub job: FailedJob,
    /// Its message, undecoded; `null` where its event is no longer stored.
    pub envelope: Envelope,
    /// The key that its handler was given at every attempt: what whoever owns the effect knows it by.
    pub key: IdempotencyKey,
}

/// Which parked jobs, and from where on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page<'a> {
    pub(crate) handler: Option<&'a str>,
    pub(crate) behind: Option<(DateTime<Utc>, Uuid)>,
    pub(crate) most: u32,
    pub(crate) parked_for: std::time::Duration,
}

pub(crate) async fn parked(
    connection: &mut PgConnection,
    statements: &Statements,
    page: Page<'_>,
) -> Result<Vec<DeadLetter>, sqlx::Error> {
    let (moment, id) = page.behind.unzip();
    let rows = sqlx::query(statements.parked.text())
        .bind(page.handler)
        .bind(moment)
        .bind(id)
        .bind(i32::try_from(page.most).unwrap_or(i32::MAX))
        .bind(millis(page.parked_for))
        .fetch_all(connection)
        .await?;
    rows.iter().map(read).collect()
}

/// `None` when no failed job has this id.
pub(crate) async fn inspect(
    connection: &mut PgConnection,
    statements: &Statements,
    job: JobId,
) -> Result<Option<DeadLetter>, sqlx::Error> {
    let row = sqlx::query(statements.inspect.text()).bind(job.as_uuid()).fetch_optional(connection).await?;
    row.as_ref().map(read).transpose()
}

fn read(row: &PgRow) -> Result<DeadLetter, sqlx::Error> {
    let job = failed::read(row)?;
    let id = job.event_id.unwrap_or_else(|| EventId::from_ulid(job.id.as_ulid()));
    let payload: Option<String> = row.try_get("payload")?;
    let envelope = Envelope {
        id,
        name: job.message.clone(),
        version: job.version,
        occurred_at: row.try_get("occurred_at")?,
        subject: Subject {
            kind: row.try_get::<Option<String>, _>("subject_type")?.unwrap_or_default(),
            id: row.try_get("subject_id")?,
        },
        metadata: Metadata::from_json(row.try_get::<Option<&str>, _>("metadata")?.unwrap_or("{}")),
        payload: Payload::from_json(payload.unwrap_or_else(|| "null".to_owned())),
    };
    let key = IdempotencyKey::of(id, row.try_get("original")?);
    Ok(DeadLetter { job, envelope, key })
}

/// The owner's answer; whether there was such a parked job.
pub(crate) async fn resolve(
    connection: &mut PgConnection,
    schema: &Schema,
    job: JobId,
    took_effect: bool,
) -> Result<bool, sqlx::Error> {
    let text = format!("select {}($1, $2)", schema.table("resolve"));
    sqlx::query(AssertSqlSafe(text)).bind(job.as_uuid()).bind(took_effect).fetch_one(connection).await?.try_get(0)
}
