//! survey: what waits and nobody runs. A rename without an alias, or a handler that is no longer deployed, shows here.

use std::fmt;

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, Row as _};

use super::Statements;

/// Waiting jobs of a handler (or a payload version) that no living worker declares. They keep waiting, uncharged.
///
/// Printed, it is a sentence for people that says what can be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unclaimed {
    /// Stored name of the handler.
    pub job_type: String,
    /// Version of the payload; 0 where the handler takes any.
    pub version: u32,
    /// How many wait; counted up to 10,000.
    pub waiting: u64,
    /// When the oldest of those counted was written.
    pub oldest: Option<DateTime<Utc>>,
    /// Versions that this process and living workers do take for this handler; empty where nobody runs it at all. Not empty, the
    /// handler starves on a version that its binaries do not know.
    pub taken: Vec<u32>,
}

impl fmt::Display for Unclaimed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { job_type, version, waiting, taken, .. } = self;
        let jobs = if *waiting == 1 { "job of" } else { "jobs of" };
        let wait = if *waiting == 1 { "waits" } else { "wait" };
        if taken.is_empty() {
            return write!(
                f,
                "{waiting} {jobs} `{job_type}` (version {version}) {wait}, and nobody runs that handler: deploy it, or say \
                 `aliases(\"{job_type}\")` at its new name; if it is gone for good, `outbox.retire(\"{job_type}\")` keeps more from coming, and \
                 `outbox.cancel(job, ..)` ends one that waits"
            );
        }
        let taken: Vec<_> = taken.iter().map(ToString::to_string).collect();
        write!(
            f,
            "{waiting} {jobs} `{job_type}` {wait} for a binary that knows version {version}, and those that run take version {}: deploy \
             one that does; a publisher that says `also_as` serves both",
            taken.join(", ")
        )
    }
}

/// Active handlers of the catalogue that nobody declares: name and source.
pub(crate) async fn undeclared(
    connection: &mut PgConnection,
    statements: &Statements,
    own: &[&str],
) -> Result<Vec<(String, String)>, sqlx::Error> {
    let rows = sqlx::query(statements.survey_handlers.text()).bind(own).fetch_all(connection).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Waiting jobs that neither this process nor any living worker can run.
pub(crate) async fn unclaimed(
    connection: &mut PgConnection,
    statements: &Statements,
    names: &[&str],
    versions: &[i32],
) -> Result<Vec<Unclaimed>, sqlx::Error> {
    let rows = sqlx::query(statements.survey_jobs.text()).bind(names).bind(versions).fetch_all(connection).await?;
    let read = |row: &sqlx::postgres::PgRow| {
        Ok(Unclaimed {
            job_type: row.try_get(0)?,
            version: row.try_get::<i32, _>(1)?.cast_unsigned(),
            waiting: row.try_get::<i64, _>(2)?.unsigned_abs(),
            oldest: row.try_get(3)?,
            taken: row.try_get::<Vec<i32>, _>(4)?.into_iter().map(i32::cast_unsigned).collect(),
        })
    };
    rows.iter().map(read).collect()
}

/// How many connections this process's role may have; `None` when the catalogue does not show its limits.
pub(crate) async fn connections(
    connection: &mut PgConnection,
    statements: &Statements,
) -> Result<Option<u32>, sqlx::Error> {
    let most: Option<i32> = sqlx::query_scalar(statements.survey_connections.text()).fetch_optional(connection).await?;
    Ok(most.map(|most| most.max(0).cast_unsigned()))
}
