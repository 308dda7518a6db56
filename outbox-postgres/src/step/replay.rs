//! replay: stored events become jobs of one subscriber once more, a bounded batch at a time.

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, PgConnection, Row as _};
use uuid::Uuid;

use super::Statements;
use crate::schema::Schema;

/// Which events, of a subscriber's.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choice {
    pub(crate) handler: String,
    pub(crate) ids: Option<Vec<Uuid>>,
    /// A name, or with its second part a prefix.
    pub(crate) event: Option<(String, bool)>,
    pub(crate) subject: Option<(String, Option<String>)>,
    pub(crate) from: Option<DateTime<Utc>>,
    pub(crate) until: Option<DateTime<Utc>>,
    pub(crate) only_missing: bool,
}

/// One batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch {
    pub(crate) behind: Uuid,
    pub(crate) before: Uuid,
    /// Most events read.
    pub(crate) most: i32,
    /// Whether jobs are written, or only counted.
    pub(crate) write: bool,
    /// Since when finished jobs are there.
    pub(crate) horizon: Option<DateTime<Utc>>,
}

/// What a batch came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Came {
    pub(crate) looked_at: u64,
    pub(crate) last: Option<Uuid>,
    pub(crate) written: u64,
    pub(crate) due: u64,
    pub(crate) live: u64,
    pub(crate) failed: u64,
    pub(crate) done: u64,
    pub(crate) erased: u64,
    pub(crate) unknown: u64,
}

pub(crate) async fn replay(
    connection: &mut PgConnection,
    statements: &Statements,
    choice: &Choice,
    batch: Batch,
) -> Result<Came, sqlx::Error> {
    let row = sqlx::query(statements.replay.text())
        .bind(&choice.handler)
        .bind(batch.behind)
        .bind(batch.before)
        .bind(&choice.ids)
        .bind(choice.event.as_ref().map(|(name, _)| name))
        .bind(choice.event.as_ref().is_some_and(|(_, is_prefix)| *is_prefix))
        .bind(choice.subject.as_ref().map(|(kind, _)| kind))
        .bind(choice.subject.as_ref().and_then(|(_, id)| id.as_ref()))
        .bind(choice.from)
        .bind(choice.until)
        .bind(choice.only_missing)
        .bind(batch.horizon)
        .bind(batch.most)
        .bind(batch.write)
        .fetch_one(connection)
        .await?;
    let count = |name: &str| row.try_get::<i64, _>(name).map(i64::unsigned_abs);
    Ok(Came {
        looked_at: count("looked_at")?,
        last: row.try_get("last")?,
        written: count("written")?,
        due: count("due")?,
        live: count("live")?,
        failed: count("failed")?,
        done: count("done")?,
        erased: count("erased")?,
        unknown: count("unknown")?,
    })
}

/// Why a handler cannot be replayed, if it cannot: what the catalogue says that it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    Replayable,
    Unknown,
    Retired,
    /// A job's handler, or one that runs inside of the publish.
    Another(String),
}

pub(crate) async fn standing(
    connection: &mut PgConnection,
    schema: &Schema,
    handler: &str,
) -> Result<Standing, sqlx::Error> {
    let table = schema.table("subscription");
    let text = format!("select kind, retired_at is not null as retired from {table} where handler = $1");
    let Some(row) = sqlx::query(AssertSqlSafe(text)).bind(handler).fetch_optional(connection).await? else {
        return Ok(Standing::Unknown);
    };
    let kind: String = row.try_get("kind")?;
    Ok(match (kind.as_str(), row.try_get("retired")?) {
        ("event", false) => Standing::Replayable,
        ("event", true) => Standing::Retired,
        _ => Standing::Another(kind),
    })
}

/// Since when all finished jobs are there: where the oldest of their days begins.
pub(crate) async fn horizon(
    connection: &mut PgConnection,
    schema: &Schema,
) -> Result<Option<DateTime<Utc>>, sqlx::Error> {
    let days = schema.table("retention_partitions");
    let text = format!("select min(low::timestamptz) from {days}('job_succeeded')");
    sqlx::query_scalar(AssertSqlSafe(text)).fetch_one(connection).await
}
