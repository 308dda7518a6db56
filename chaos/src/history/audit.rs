//! The audit trail: what the database did, in the order in which it did it.

use std::sync::Arc;

use uuid::Uuid;

use super::JobKey;

/// What happened to a job's row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A live row was inserted.
    Made,
    /// A live row was updated.
    Changed,
    /// A live row was deleted.
    Gone,
    /// A row of a succeeded job was inserted.
    Succeeded,
    /// A row of a failed job was inserted.
    Failed,
    /// A row of a failed job was deleted.
    Redriven,
    /// A final row was updated, or a succeeded one deleted.
    Broken,
}

impl What {
    pub(super) fn of(word: &str) -> Option<Self> {
        Some(match word {
            "made" => Self::Made,
            "changed" => Self::Changed,
            "gone" => Self::Gone,
            "succeeded" => Self::Succeeded,
            "failed" => Self::Failed,
            "redriven" => Self::Redriven,
            "broken" => Self::Broken,
            _ => return None,
        })
    }
}

/// Which of a process's services did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// `outbox claim`.
    Claim,
    /// `outbox settle`.
    Settle,
    /// `outbox upkeep`: rescue and its kin.
    Upkeep,
    /// The application's pool: publish, and the commit of a transactional handler.
    Pool,
}

/// A change of a job's row.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its place in the order.
    pub no: i64,
    /// The transaction, by number.
    pub xid: u64,
    /// Whose connection it was.
    pub node: Option<Arc<str>>,
    /// Which service's.
    pub service: Service,
    /// What happened.
    pub what: What,
    /// The job.
    pub job: Uuid,
    /// As handlers know it.
    pub key: JobKey,
    /// Whether it runs now (where it is gone: ran until now).
    pub running: bool,
    /// The claim that holds it now (where it is gone: held it).
    pub claim: Option<Uuid>,
    /// The worker that holds it, or held it before this change.
    pub worker: Option<Uuid>,
    /// Executions begun in this life. All three as they are stored: what cannot be is for the checker to say.
    pub attempts: i32,
    /// Executions allowed.
    pub most: i32,
    /// Crashes in this life.
    pub crashes: i32,
    /// Of a change: whether it ran before, and under which claim.
    pub before: (bool, Option<Uuid>),
    /// Why it ended.
    pub reason: Option<Arc<str>>,
}

/// What happened to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerWhat {
    /// Its row was made.
    Registered,
    /// It was marked dead.
    Died,
    /// Its row was removed.
    Removed,
}

/// A change of a worker's life.
#[derive(Clone, Debug)]
pub struct WorkerStep {
    /// Its place in the order of all steps.
    pub no: i64,
    /// What happened.
    pub what: WorkerWhat,
    /// Which worker.
    pub worker: Uuid,
    /// The process that it is.
    pub node: Arc<str>,
}
