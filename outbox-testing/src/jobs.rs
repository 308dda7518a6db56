//! The rows of `job` as a test reads them.

use outbox_core::{EventId, JobId};
use sqlx::{AssertSqlSafe, PgPool, Row as _};
use uuid::Uuid;

/// One job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    /// Its id.
    pub id: JobId,
    /// The event that caused it.
    pub event_id: Option<EventId>,
    /// Stored name of its handler.
    pub handler: String,
    /// pending, running, succeeded or failed.
    pub status: String,
    /// Executions begun.
    pub attempts: u32,
    /// Executions allowed.
    pub max_attempts: u32,
    /// How often its process died while it was held.
    pub crashes: u32,
    /// Why it ended.
    pub reason: Option<String>,
    /// The last error.
    pub last_error: Option<String>,
}

/// All jobs of a schema, by handler and id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jobs(pub Vec<JobRow>);

impl Jobs {
    pub(crate) async fn read(pool: &PgPool, schema: &str) -> Self {
        let text = format!(
            "select id, event_id, job_type, status, attempts, max_attempts, crashes, reason, last_error
             from \"{schema}\".job order by job_type, id"
        );
        let rows = sqlx::query(AssertSqlSafe(text)).fetch_all(pool).await.expect("the job table can be read");
        let unsigned = |value: i32| u32::try_from(value).expect("counters are not negative");
        Self(
            rows.iter()
                .map(|row| JobRow {
                    id: row.get::<Uuid, _>(0).into(),
                    event_id: row.get::<Option<Uuid>, _>(1).map(EventId::from),
                    handler: row.get(2),
                    status: row.get(3),
                    attempts: unsigned(row.get(4)),
                    max_attempts: unsigned(row.get(5)),
                    crashes: unsigned(row.get(6)),
                    reason: row.get(7),
                    last_error: row.get(8),
                })
                .collect(),
        )
    }

    /// The jobs of one handler.
    #[must_use]
    pub fn of(&self, handler: &str) -> Self {
        Self(self.0.iter().filter(|job| job.handler == handler).cloned().collect())
    }

    /// The only job there is.
    ///
    /// # Panics
    /// When there is none, or more than one.
    #[must_use]
    pub fn only(&self) -> &JobRow {
        match self.0.as_slice() {
            [job] => job,
            others => panic!("expected one job, found {others:#?}"),
        }
    }

    /// How many are in this status.
    #[must_use]
    pub fn count(&self, status: &str) -> usize {
        self.0.iter().filter(|job| job.status == status).count()
    }

    /// How many succeeded.
    #[must_use]
    pub fn succeeded(&self) -> usize {
        self.count("succeeded")
    }

    /// How many failed.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.count("failed")
    }

    /// How many have not ended.
    #[must_use]
    pub fn live(&self) -> usize {
        self.count("pending") + self.count("running")
    }

    /// All that there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
