//! schedule: ticks become jobs. A tick is found due, the schedule's row is locked where it still stands there, and one statement writes the
//! jobs and moves the row on. Lost anywhere, or done twice, each tick has its job once: the row only moves forward.

use chrono::{DateTime, Utc};
use outbox_core::timetable::Turn;
use outbox_core::{Tick, tick};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::Statements;
use crate::atomic::Atomic;

/// A schedule as its row has it.
#[derive(Debug, Clone)]
pub(crate) struct Due {
    pub(crate) name: String,
    pub(crate) cadence: String,
    pub(crate) zone: String,
    pub(crate) catch_up: String,
    pub(crate) catch_up_most: u32,
    pub(crate) seed: Uuid,
    pub(crate) next_tick: DateTime<Utc>,
    /// By the database's clock, when this was read.
    pub(crate) now: DateTime<Utc>,
}

/// What a turn at a schedule came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Another process is at it, or was, or it was paused or changed meanwhile.
    Elsewhere,
    /// So many jobs were written.
    Jobs(u64),
    /// The run of a former tick has not ended, so this one was passed over.
    Busy,
}

/// Those of `names` that are neither paused nor over, the one that is due first in front.
pub(crate) async fn due(
    connection: &mut PgConnection,
    statements: &Statements,
    names: &[&str],
    most: i32,
) -> Result<Vec<Due>, sqlx::Error> {
    let rows = sqlx::query(statements.schedule_due.text()).bind(names).bind(most).fetch_all(connection).await?;
    rows.iter().map(read).collect()
}

fn read(row: &PgRow) -> Result<Due, sqlx::Error> {
    Ok(Due {
        name: row.try_get(0)?,
        cadence: row.try_get(1)?,
        zone: row.try_get(2)?,
        catch_up: row.try_get(3)?,
        catch_up_most: row.try_get::<i32, _>(4)?.unsigned_abs(),
        seed: row.try_get(5)?,
        next_tick: row.try_get(6)?,
        now: row.try_get(7)?,
    })
}

/// Takes the ticks of `turn`, in one transaction.
pub(crate) async fn take(
    connection: &mut PgConnection,
    statements: &Statements,
    due: &Due,
    turn: &Turn,
) -> Result<Taken, sqlx::Error> {
    let mut transaction = Atomic::begin(connection).await?;
    let locked = sqlx::query(statements.schedule_lock.text())
        .bind(&due.name)
        .bind(&due.cadence)
        .bind(&due.zone)
        .bind(due.next_tick)
        .bind(due.now)
        .fetch_optional(&mut *transaction)
        .await?;
    if locked.is_none() {
        transaction.leave().await?;
        return Ok(Taken::Elsewhere);
    }
    let ids: Vec<_> = turn.take.iter().map(|at| tick::job_id(due.seed, *at).as_uuid()).collect();
    let row = sqlx::query(statements.schedule_take.text())
        .bind(&due.name)
        .bind(turn.next)
        .bind(&turn.take)
        .bind(ids)
        .bind(payloads(due, turn)?)
        .bind(tick::VERSION.cast_signed())
        .bind(turn.missed)
        .fetch_one(&mut *transaction)
        .await?;
    let (free, jobs): (bool, i64) = (row.try_get(0)?, row.try_get(1)?);
    transaction.commit().await?;
    Ok(if free { Taken::Jobs(jobs.unsigned_abs()) } else { Taken::Busy })
}

fn payloads(due: &Due, turn: &Turn) -> Result<Vec<String>, sqlx::Error> {
    let payload = |at: &DateTime<Utc>| serde_json::to_string(&Tick::new(*at, &*due.zone));
    turn.take.iter().map(payload).collect::<Result<_, _>>().map_err(|error| sqlx::Error::Encode(error.into()))
}
