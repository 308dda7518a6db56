//! rescue: workers whose lease ended are marked dead, and what they held goes back or fails.

use outbox_core::JobId;
use sqlx::{AssertSqlSafe, PgConnection, Row as _};
use uuid::Uuid;

use super::Statements;
use crate::atomic::Atomic;
use crate::schema::Schema;

/// Most dead workers of one round.
const MAX_WORKERS: i32 = 20;

/// A job that was taken back from a dead worker.
#[derive(Debug)]
pub(crate) struct Rescued {
    pub(crate) job_id: JobId,
    pub(crate) job_type: String,
    /// Whether it ended as failed, reason crashed.
    pub(crate) ended: bool,
}

/// What a round found.
#[derive(Debug, Default)]
pub(crate) struct Round {
    pub(crate) workers: Vec<Uuid>,
    pub(crate) jobs: Vec<Rescued>,
}

/// One transaction of two statements; nothing but the first when no worker is dead.
pub(crate) async fn rescue(
    connection: &mut PgConnection,
    statements: &Statements,
    crash_limit: u32,
) -> Result<Round, sqlx::Error> {
    let mut transaction = Atomic::begin(connection).await?;
    let marked = sqlx::query(statements.rescue_mark.text()).bind(MAX_WORKERS).fetch_all(&mut *transaction).await?;
    let workers = marked.iter().map(|row| row.try_get(0)).collect::<Result<Vec<Uuid>, _>>()?;
    if workers.is_empty() {
        transaction.leave().await?;
        return Ok(Round::default());
    }
    let jobs = take_back(&mut transaction, statements, &workers, crash_limit).await?;
    transaction.commit().await?;
    Ok(Round { workers, jobs })
}

/// What earlier rounds had to pass over, because it was locked; the rows of dead workers that hold nothing go.
pub(crate) async fn bury(
    connection: &mut PgConnection,
    statements: &Statements,
    schema: &Schema,
    crash_limit: u32,
) -> Result<Vec<Rescued>, sqlx::Error> {
    let text = format!(
        "select id from {} where dead_at is not null order by random() limit {MAX_WORKERS}",
        schema.table("worker")
    );
    let dead = sqlx::query(AssertSqlSafe(text)).fetch_all(&mut *connection).await?;
    if dead.is_empty() {
        return Ok(Vec::new());
    }
    let dead = dead.iter().map(|row| row.try_get(0)).collect::<Result<Vec<Uuid>, _>>()?;
    let jobs = take_back(&mut *connection, statements, &dead, crash_limit).await?;
    sqlx::query(statements.bury.text()).bind(&dead).execute(connection).await?;
    Ok(jobs)
}

/// Returns or fails what these workers hold, which are known to be dead.
pub(crate) async fn take_back(
    connection: &mut PgConnection,
    statements: &Statements,
    workers: &[Uuid],
    crash_limit: u32,
) -> Result<Vec<Rescued>, sqlx::Error> {
    let limit = i32::try_from(crash_limit).unwrap_or(i32::MAX);
    let rows = sqlx::query(statements.rescue_return.text()).bind(workers).bind(limit).fetch_all(connection).await?;
    let rescued = |row: &sqlx::postgres::PgRow| {
        Ok(Rescued { job_id: row.try_get::<Uuid, _>(0)?.into(), job_type: row.try_get(1)?, ended: row.try_get(2)? })
    };
    rows.iter().map(rescued).collect()
}
