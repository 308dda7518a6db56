//! backfill: the jobs of events whose publishers did not see a subscriber's activation, written once per activation.
//!
//! Three statements in order: the barrier says what has to end first; the lock makes one runner at a time; the batch, younger
//! than both, writes what is missing. Events from before the activation get no job: further back is replay, said explicitly.

use outbox_core::name;
use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use super::Statements;
use crate::atomic::Atomic;
use crate::schema::Schema;

/// Most events of one batch, and most events that are read for it: most of them can be of other types.
const BATCH: i32 = 500;
const READ: i32 = 20_000;

/// Fixes the barrier of every fresh activation. Answers their handlers.
pub(crate) async fn raise_barrier(
    connection: &mut PgConnection,
    statements: &Statements,
    schema: &Schema,
) -> Result<Vec<String>, sqlx::Error> {
    let table = schema.table("subscription");
    // Most of the time there is nothing to fix, and the fence must not move without a reason: it refuses older snapshots.
    let fresh = format!(
        "select from {table} where kind = 'event' and retired_at is null and backfilled_at is null and barrier_xid is null limit 1"
    );
    if sqlx::query(AssertSqlSafe(fresh)).fetch_optional(&mut *connection).await?.is_none() {
        return Ok(Vec::new());
    }
    let mut transaction = Atomic::begin(connection).await?;
    let lock = format!("select pg_advisory_xact_lock(hashtextextended('outbox catalogue {}', 0))", schema.as_str());
    sqlx::query(AssertSqlSafe(lock)).execute(&mut *transaction).await?;
    let fence = schema.table("catalogue_fence");
    sqlx::query(statements.backfill_fence.text()).bind(fence).execute(&mut *transaction).await?;
    let rows = sqlx::query(statements.backfill_barrier.text()).bind(table).fetch_all(&mut *transaction).await?;
    let handlers = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    transaction.commit().await?;
    Ok(handlers)
}

/// What one try came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Backfilled {
    /// No activation is left at this place, or another process is at it.
    Nothing,
    /// Transactions that may yet lack their jobs are still open.
    NotReady,
    /// One batch was done.
    Batch { handler: String, jobs: u64 },
}

/// One batch of the unfinished activation at place `skip`.
pub(crate) async fn backfill(
    connection: &mut PgConnection,
    statements: &Statements,
    schema: &Schema,
    skip: i32,
) -> Result<Backfilled, sqlx::Error> {
    let mut transaction = Atomic::begin(connection).await?;
    let table = schema.table("subscription");
    let locked =
        sqlx::query(statements.backfill_lock.text()).bind(table).bind(skip).fetch_optional(&mut *transaction).await?;
    let Some(row) = locked else {
        transaction.leave().await?;
        return Ok(Backfilled::Nothing);
    };
    let (handler, source, ready): (String, String, bool) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    if !ready {
        transaction.leave().await?;
        return Ok(Backfilled::NotReady);
    }
    let row = sqlx::query(statements.backfill_batch.text())
        .bind(&handler)
        .bind(source.trim_end_matches('*'))
        .bind(name::is_wildcard(&source))
        .bind(BATCH)
        .bind(READ)
        .fetch_one(&mut *transaction)
        .await?;
    let jobs: i64 = row.try_get(1)?;
    transaction.commit().await?;
    Ok(Backfilled::Batch { handler, jobs: jobs.unsigned_abs() })
}
