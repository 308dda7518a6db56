//! `dead_letters`: which failed jobs are meant, a bounded piece at a time, and their redrive.

use chrono::{DateTime, Utc};
use outbox_core::JobId;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::Statements;

/// Failed jobs looked at by one statement.
pub(crate) const LOOK: u32 = 5_000;

/// Which failed jobs are meant. What is not said is any.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choice {
    pub(crate) from: Option<DateTime<Utc>>,
    pub(crate) until: Option<DateTime<Utc>>,
    pub(crate) handler: Option<String>,
    pub(crate) reason: Option<&'static str>,
    /// A name, or the beginning of one.
    pub(crate) message: Option<(String, bool)>,
    pub(crate) subject: Option<(String, String)>,
    pub(crate) ids: Option<Vec<Uuid>>,
}

/// How far a look over all that failed has come.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place {
    pub(crate) behind: Option<(DateTime<Utc>, Uuid)>,
    /// What failed later is no part of it: a job that is redriven and fails again is not met twice.
    pub(crate) until: Option<DateTime<Utc>>,
}

/// A failed job that is meant.
#[derive(Debug, Clone)]
pub(crate) struct Meant {
    pub(crate) job: JobId,
    pub(crate) handler: String,
    pub(crate) message: String,
}

/// The next ones that are meant, at most `most`, and where to go on; `None`: that was all.
pub(crate) async fn look(
    connection: &mut PgConnection,
    statements: &Statements,
    choice: &Choice,
    place: Place,
    most: u32,
) -> Result<(Vec<Meant>, Option<Place>), sqlx::Error> {
    let (moment, id) = place.behind.unzip();
    let (message, is_prefix) = choice.message.as_ref().map(|(name, is_prefix)| (name.as_str(), *is_prefix)).unzip();
    let (kind, subject) = choice.subject.as_ref().map(|(kind, id)| (kind.as_str(), id.as_str())).unzip();
    let row = sqlx::query(statements.dead_letters.text())
        .bind(moment)
        .bind(id)
        .bind(place.until)
        .bind(LOOK.cast_signed())
        .bind(i32::try_from(most).unwrap_or(i32::MAX))
        .bind(choice.from)
        .bind(choice.until)
        .bind(choice.handler.as_deref())
        .bind(choice.reason)
        .bind(message)
        .bind(is_prefix)
        .bind(kind)
        .bind(subject)
        .bind(choice.ids.as_deref())
        .fetch_one(connection)
        .await?;
    let (ids, handlers): (Vec<Uuid>, Vec<String>) = (row.try_get("ids")?, row.try_get("handlers")?);
    let messages: Vec<String> = row.try_get("messages")?;
    let meant = ids.into_iter().zip(handlers).zip(messages);
    let meant: Vec<_> = meant.map(|((id, handler), message)| Meant { job: id.into(), handler, message }).collect();
    let (moment, id): (Option<DateTime<Utc>>, Option<Uuid>) = (row.try_get("last_at")?, row.try_get("last_id")?);
    let all_looked_at = row.try_get::<i64, _>("looked")? < i64::from(LOOK) && meant.len() < most as usize;
    let until: DateTime<Utc> = row.try_get("until")?;
    let next = moment.zip(id).filter(|_| !all_looked_at);
    Ok((meant, next.map(|behind| Place { behind: Some(behind), until: Some(until) })))
}

/// What became of a failed job that was to be redriven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Redriven,
    Parked,
    Live,
    Gone,
}

/// What a redrive of this job would come to.
pub(crate) async fn would_be(
    connection: &mut PgConnection,
    statements: &Statements,
    job: JobId,
) -> Result<Word, sqlx::Error> {
    Ok(redrive(connection, statements, &[job], false, false).await?.first().copied().unwrap_or(Word::Gone))
}

/// What became of each, or would become of it.
pub(crate) async fn redrive(
    connection: &mut PgConnection,
    statements: &Statements,
    jobs: &[JobId],
    force: bool,
    write: bool,
) -> Result<Vec<Word>, sqlx::Error> {
    let ids: Vec<_> = jobs.iter().map(|job| job.as_uuid()).collect();
    let query = sqlx::query_scalar(statements.redrive_many.text()).bind(ids).bind(force).bind(write);
    let words: Vec<String> = query.fetch_all(connection).await?;
    let word = |word: String| match word.as_str() {
        "redriven" => Word::Redriven,
        "parked" => Word::Parked,
        "live" => Word::Live,
        _ => Word::Gone,
    };
    Ok(words.into_iter().map(word).collect())
}

/// One failed execution of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailedAttempt {
    /// When it began, by the database's clock.
    pub started_at: DateTime<Utc>,
    /// When it ended.
    pub ended_at: DateTime<Utc>,
    /// Which execution of its life it was, counted from 1.
    pub attempt: u32,
    /// What became of the job: retry, failed or crashed.
    pub outcome: String,
    /// The error's source chain.
    pub error: Option<String>,
}

/// Those of one job, in order, of its earlier lives too.
pub(crate) async fn attempts(
    connection: &mut PgConnection,
    statements: &Statements,
    job: JobId,
) -> Result<Vec<FailedAttempt>, sqlx::Error> {
    let rows = sqlx::query(statements.inspect_attempts.text()).bind(job.as_uuid()).fetch_all(connection).await?;
    let read = |row: &sqlx::postgres::PgRow| {
        Ok(FailedAttempt {
            started_at: row.try_get(0)?,
            ended_at: row.try_get(1)?,
            attempt: u32::try_from(row.try_get::<i32, _>(2)?).unwrap_or(0),
            outcome: row.try_get(3)?,
            error: row.try_get(4)?,
        })
    };
    rows.iter().map(read).collect()
}
