//! status of schedules: how far the schedules have come, and an operator's word on one of them: pause, resume, run now.

use chrono::{DateTime, TimeDelta, Utc};
use outbox_core::JobId;
use outbox_core::schedule::CatchUp;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use super::Statements;
use crate::schema::Schema;

/// A schedule, as its row says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleStatus {
    /// Its stored name, which is that of its jobs too.
    pub name: String,
    /// A cron line, or `every 5m`.
    pub cadence: String,
    /// The zone whose clocks a line follows.
    pub zone: String,
    /// What becomes of missed ticks; `None` for what only a later release knows.
    pub catch_up: Option<CatchUp>,
    /// Whether a tick gets its job although the run of the former one has not ended.
    pub overlaps: bool,
    /// The tick that is due next; `None` when there is none any more.
    pub next_tick: Option<DateTime<Utc>>,
    /// The newest tick that has a job.
    pub last_tick: Option<DateTime<Utc>>,
    /// How often ticks were passed over, because they were missed or the former run had not ended. Several that were missed at once count once.
    pub passed_over: u64,
    /// Since when it is paused.
    pub paused_at: Option<DateTime<Utc>>,
    /// The process that declared it last, when it was new or had changed.
    pub declared_by: String,
    /// When that was.
    pub declared_at: DateTime<Utc>,
    /// By the database's clock, when this was read.
    pub now: DateTime<Utc>,
}

impl ScheduleStatus {
    /// For how long the next tick has been due. Zero for one that is not due, or paused.
    #[must_use]
    pub fn late(&self) -> std::time::Duration {
        let since = |tick: DateTime<Utc>| (self.now - tick).max(TimeDelta::zero()).to_std().unwrap_or_default();
        self.next_tick.filter(|_| self.paused_at.is_none()).map(since).unwrap_or_default()
    }
}

/// All of them, or the one of this name.
pub(crate) async fn status(
    connection: &mut PgConnection,
    statements: &Statements,
    name: Option<&str>,
) -> Result<Vec<ScheduleStatus>, sqlx::Error> {
    let rows = sqlx::query(statements.schedule_status.text()).bind(name).fetch_all(connection).await?;
    rows.iter().map(read).collect()
}

fn read(row: &PgRow) -> Result<ScheduleStatus, sqlx::Error> {
    Ok(ScheduleStatus {
        name: row.try_get(0)?,
        cadence: row.try_get(1)?,
        zone: row.try_get(2)?,
        next_tick: row.try_get(3)?,
        last_tick: row.try_get(4)?,
        passed_over: row.try_get::<i64, _>(5)?.unsigned_abs(),
        paused_at: row.try_get(6)?,
        declared_by: row.try_get(7)?,
        declared_at: row.try_get(8)?,
        now: row.try_get(9)?,
        catch_up: CatchUp::of_stored(row.try_get(10)?, row.try_get::<i32, _>(11)?.unsigned_abs()),
        overlaps: row.try_get(12)?,
    })
}

/// Answers whether there is a schedule of this name.
pub(crate) async fn pause(connection: &mut PgConnection, schema: &Schema, name: &str) -> Result<bool, sqlx::Error> {
    let table = schema.table("schedule");
    let text = format!("update {table} set paused_at = coalesce(paused_at, statement_timestamp()) where name = $1");
    Ok(sqlx::query(AssertSqlSafe(text)).bind(name).execute(connection).await?.rows_affected() > 0)
}

/// Answers whether it stood as `before` says; then it goes on with `next_tick`.
pub(crate) async fn resume(
    connection: &mut PgConnection,
    schema: &Schema,
    before: &ScheduleStatus,
    next_tick: Option<DateTime<Utc>>,
) -> Result<bool, sqlx::Error> {
    let text = format!(
        "update {} set paused_at = null, next_tick = $2 where name = $1 and paused_at is not null and (cadence, zone) = ($3, $4)",
        schema.table("schedule")
    );
    let resume =
        sqlx::query(AssertSqlSafe(text)).bind(&before.name).bind(next_tick).bind(&before.cadence).bind(&before.zone);
    Ok(resume.execute(connection).await?.rows_affected() > 0)
}

/// What a run by hand came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByHand {
    Run,
    Busy,
    Unknown,
}

pub(crate) async fn run_now(
    connection: &mut PgConnection,
    schema: &Schema,
    name: &str,
    job: JobId,
) -> Result<ByHand, sqlx::Error> {
    let text = format!("select {}($1, $2)", schema.table("run_schedule"));
    let row = sqlx::query(AssertSqlSafe(text)).bind(name).bind(job.as_uuid()).fetch_one(connection).await?;
    Ok(match row.try_get::<&str, _>(0)? {
        "run" => ByHand::Run,
        "busy" => ByHand::Busy,
        _ => ByHand::Unknown,
    })
}
