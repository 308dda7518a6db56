//! rescue: workers whose lease ended are marked dead, and what they held goes back or fails.

use outbox_core::JobId;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};
use uuid::Uuid;

use super::Statements;
use crate::atomic::Atomic;
use crate::schema::Schema;
use crate::sqlstate::{self, Class};

/// Most dead workers of one round.
const MAX_WORKERS: i32 = 20;

/// A job that was taken back from a dead worker.
#[derive(Debug)]
pub(crate) struct Rescued {
    pub(crate) job_id: JobId,
    pub(crate) job_type: String,
    /// As what it ended, `crashed` or `unknown`; `None`: it is due again.
    pub(crate) ended: Option<String>,
}

/// What a round found.
#[derive(Debug, Default)]
pub(crate) struct Round {
    pub(crate) workers: Vec<Uuid>,
    pub(crate) back: TakenBack,
}

/// What became of the jobs of dead workers.
#[derive(Debug, Default)]
pub(crate) struct TakenBack {
    pub(crate) jobs: Vec<Rescued>,
    /// Those that the database does not let go of, and why. They keep no other from coming back.
    pub(crate) refused: Vec<(JobId, sqlx::Error)>,
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
    let back = take_back(&mut transaction, statements, &workers, crash_limit).await?;
    transaction.commit().await?;
    Ok(Round { workers, back })
}

/// What earlier rounds had to pass over, because it was locked; the rows of dead workers that hold nothing go.
pub(crate) async fn bury(
    connection: &mut PgConnection,
    statements: &Statements,
    schema: &Schema,
    crash_limit: u32,
) -> Result<TakenBack, sqlx::Error> {
    let text = format!(
        "select id from {} where dead_at is not null order by random() limit {MAX_WORKERS}",
        schema.table("worker")
    );
    let dead = sqlx::query(AssertSqlSafe(text)).fetch_all(&mut *connection).await?;
    if dead.is_empty() {
        return Ok(TakenBack::default());
    }
    let dead = dead.iter().map(|row| row.try_get(0)).collect::<Result<Vec<Uuid>, _>>()?;
    let back = take_back(&mut *connection, statements, &dead, crash_limit).await?;
    sqlx::query(statements.bury.text()).bind(&dead).execute(connection).await?;
    Ok(back)
}

/// Returns or fails what these workers hold, which are known to be dead: all at once, and in halves where that is refused, until
/// the row that is to blame stands alone.
pub(crate) async fn take_back(
    connection: &mut PgConnection,
    statements: &Statements,
    workers: &[Uuid],
    crash_limit: u32,
) -> Result<TakenBack, sqlx::Error> {
    let mut back = TakenBack::default();
    match take_back_of(&mut *connection, statements, workers, crash_limit, None).await {
        Err(error) if sqlstate::classify(&error) == Class::Refused => {}
        jobs => return jobs.map(|jobs| TakenBack { jobs, ..back }),
    }
    let mut parts = vec![held(&mut *connection, statements, workers).await?];
    while let Some(mut part) = parts.pop() {
        match take_back_of(&mut *connection, statements, workers, crash_limit, Some(&part)).await {
            Ok(mut jobs) => back.jobs.append(&mut jobs),
            Err(error) if sqlstate::classify(&error) != Class::Refused => return Err(error),
            Err(error) if part.len() == 1 => back.refused.push((part[0].into(), error)),
            Err(_) => {
                let behind = part.split_off(part.len() / 2);
                parts.extend([behind, part]);
            }
        }
    }
    Ok(back)
}

/// In a transaction of its own inside of the one that is open, so that a refusal does not end that.
async fn take_back_of(
    connection: &mut PgConnection,
    statements: &Statements,
    workers: &[Uuid],
    crash_limit: u32,
    jobs: Option<&[Uuid]>,
) -> Result<Vec<Rescued>, sqlx::Error> {
    let limit = i32::try_from(crash_limit).unwrap_or(i32::MAX);
    let mut part = connection.begin().await?;
    let text = statements.rescue_return.text();
    let rows = sqlx::query(text).bind(workers).bind(limit).bind(jobs).fetch_all(&mut *part).await;
    let rows = match rows {
        Ok(rows) => rows,
        Err(error) => return Err(part.rollback().await.err().unwrap_or(error)),
    };
    part.commit().await?;
    let rescued = |row: &sqlx::postgres::PgRow| {
        Ok(Rescued { job_id: row.try_get::<Uuid, _>(0)?.into(), job_type: row.try_get(1)?, ended: row.try_get(2)? })
    };
    rows.iter().map(rescued).collect()
}

async fn held(
    connection: &mut PgConnection,
    statements: &Statements,
    workers: &[Uuid],
) -> Result<Vec<Uuid>, sqlx::Error> {
    sqlx::query_scalar(statements.rescue_held.text()).bind(workers).fetch_all(connection).await
}
