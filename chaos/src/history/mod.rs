//! What happened in a run, as values: what the ledgers and the audit trail say, and nothing that the checker could ask again.

mod audit;
mod gather;
mod ledgers;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::clock::{Monotonic, Wall};
use crate::ledger::{How, Intended};

pub use audit::{Service, Step, What, WorkerStep, WorkerWhat};
pub(crate) use gather::connect;
pub use gather::{Work, last_survived, prepare, progress, work_left};

/// Everything that the checker looks at.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// What publishers meant to do, and what they were answered.
    pub transactions: Vec<Transaction>,
    /// The business rows, by transaction.
    pub business: HashMap<String, u64>,
    /// Every event and every command that is stored.
    pub messages: Vec<Stored>,
    /// Each change of a job's row, in order.
    pub steps: Vec<Step>,
    /// Each change of a worker's life, in the same order.
    pub workers: Vec<WorkerStep>,
    /// Effects of transactional handlers.
    pub effects: Vec<Effect>,
    /// How often counting handlers have counted.
    pub counted: HashMap<JobKey, u64>,
    /// Every execution of a handler.
    pub executions: Vec<Execution>,
    /// Calls to somebody outside, by key.
    pub calls: HashMap<String, u64>,
    /// How each process ended that did.
    pub deaths: Vec<Death>,
    /// When processes stood still.
    pub frozen: Vec<Frozen>,
    /// Whether and when a replica took over.
    pub failover: Option<FailedOver>,
    /// Writes that the engine refused, by which.
    pub refused: BTreeMap<String, u64>,
    /// Faults that processes inflicted on themselves, as said in their ledgers.
    pub starved: u64,
    /// What the run was bound to.
    pub limits: Limits,
}

/// What the rules measure by.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Crashes after which a job fails.
    pub crashes: i32,
    /// How late a busy machine may let an execution end that is cancelled, or a clock be read.
    pub grace: Duration,
    /// Jobs that had not ended when nothing changed any more.
    pub stalled: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { crashes: 3, grace: Duration::from_millis(800), stalled: 0 }
    }
}

/// A job as handlers know it: their name, and the event's id or the job's own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobKey {
    /// The handler's stored name.
    pub handler: Arc<str>,
    /// The event's id, or the job's for a job without event.
    pub source: Uuid,
}

/// A transaction of a publisher.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Its name.
    pub name: String,
    /// What it publishes.
    pub messages: Vec<Intended>,
    /// What its publisher knows of it.
    pub fate: Fate,
}

/// What a publisher knows of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was answered as committed at this moment at the latest.
    Committed(Wall),
    /// It was not.
    RolledBack,
    /// Its commit was sent, and the answer never came; or the publisher died in the middle.
    Unknown,
}

/// A stored event or command.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its id.
    pub id: Uuid,
    /// Its stored name.
    pub kind: String,
    /// Which one.
    pub label: String,
}

/// An effect of a transactional handler.
#[derive(Clone, Debug)]
pub struct Effect {
    /// Whose.
    pub job: JobKey,
    /// The claim that its transaction was begun for.
    pub claim: Uuid,
}

/// An execution of a handler.
#[derive(Clone, Debug)]
pub struct Execution {
    /// The process.
    pub node: Arc<str>,
    /// Of what.
    pub job: JobKey,
    /// The idempotency key that it was given.
    pub key: String,
    /// Which attempt.
    pub attempt: u32,
    /// When it began.
    pub began: Monotonic,
    /// The same by the clock on the wall.
    pub began_wall: Wall,
    /// When it ended and how; nothing when its process died before.
    pub ended: Option<(Monotonic, How)>,
}

/// The end of a process.
#[derive(Clone, Debug)]
pub struct Death {
    /// Which.
    pub node: String,
    /// When it was seen.
    pub at: Monotonic,
    /// How, in words.
    pub how: String,
    /// Whether that is how processes end in a run.
    pub expected: bool,
}

/// A time in which a process stood still.
#[derive(Clone, Debug)]
pub struct Frozen {
    /// Which.
    pub node: String,
    /// From when on.
    pub from: Monotonic,
    /// Until when.
    pub to: Monotonic,
}

/// A replica that took over.
#[derive(Clone, Copy, Debug)]
pub struct FailedOver {
    /// Whether it had everything that was answered as committed.
    pub synchronous: bool,
    /// Whatever was answered before is there.
    pub survived: Wall,
    /// When it was there to be used.
    pub at: Wall,
}

impl FailedOver {
    /// Whether what was answered at this moment may be gone.
    #[must_use]
    pub fn may_have_lost(&self, answered: Wall) -> bool {
        !self.synchronous && answered >= self.survived && answered <= self.at
    }
}
