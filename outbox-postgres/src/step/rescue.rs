//! rescue: workers whose lease ended are marked dead, and what they held goes back or fails.

use outbox_core::JobId;
use sqlx::{Connection, PgConnection, Row as _};
use uuid::Uuid;

use super::Statements;

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
    let mut transaction = connection.begin().await?;
    let marked = sqlx::query(statements.rescue_mark.text()).bind(MAX_WORKERS).fetch_all(&mut *transaction).await?;
    let workers = marked.iter().map(|row| row.try_get(0)).collect::<Result<Vec<Uuid>, _>>()?;
    if workers.is_empty() {
        transaction.rollback().await?;
        return Ok(Round::default());
    }
    let limit = i32::try_from(crash_limit).unwrap_or(i32::MAX);
    let rows =
        sqlx::query(statements.rescue_return.text()).bind(&workers).bind(limit).fetch_all(&mut *transaction).await?;
    transaction.commit().await?;
    let rescued = |row: &sqlx::postgres::PgRow| {
        Ok(Rescued { job_id: row.try_get::<Uuid, _>(0)?.into(), job_type: row.try_get(1)?, ended: row.try_get(2)? })
    };
    Ok(Round { workers, jobs: rows.iter().map(rescued).collect::<Result<_, sqlx::Error>>()? })
}
