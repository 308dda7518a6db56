//! Decisions that only a statement takes, as functions. The conformance suite holds them to the statements, for every combination of
//! what they look at; the model takes its steps by them.

use outbox_core::transition::{Counts, JobState, Reason, Risk, risk};

/// A worker's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Standing {
    /// Its lease runs.
    Alive,
    /// Its lease has ended, and nobody has marked it yet.
    Expired,
    /// A rescue has marked it.
    Dead,
}

/// What a claim asks for.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// A slot of the handler, and of the process, is free.
    pub free: bool,
    /// No job that has to run alone runs in the process.
    pub crashed_too: bool,
    pub crash_limit: u32,
}

/// `claim.sql`: whether a worker of this standing, that asks for one job, gets this one.
pub fn is_claimed(worker: Option<Standing>, job: JobState, due: bool, before: Counts, room: Room) -> bool {
    let lives = worker == Some(Standing::Alive);
    let fits = match risk(before.attempts, before.max_attempts, before.crashes, room.crash_limit) {
        Risk::None => true,
        Risk::Exposed => room.free,
        Risk::Alone => room.free && room.crashed_too,
    };
    lives && job == JobState::Pending && due && fits
}

/// `settle.sql`, `settle_tx.sql`: whether a write under `claim` changes the job.
pub fn is_accepted<Claim: PartialEq + Copy>(job: JobState, held_under: Option<Claim>, claim: &Claim) -> bool {
    job == JobState::Running && held_under == Some(*claim)
}

/// `rescue_mark.sql`: whether a rescue marks this worker dead.
pub fn is_marked(worker: Standing) -> bool {
    worker == Standing::Expired
}

/// `rescue_return.sql`: whether a rescue of `dead` takes this job back.
pub fn is_taken_back<Id: PartialEq + Copy>(job: JobState, held_by: Option<Id>, dead: &Id) -> bool {
    job == JobState::Running && held_by == Some(*dead)
}

/// `bury.sql`: whether a worker's row goes.
pub fn is_buried(worker: Standing, holds: bool) -> bool {
    worker == Standing::Dead && !holds
}

/// `unregister.sql`: whether the row of a worker that ends goes; else its lease ends, and a rescue takes what is left.
pub fn is_removed(holds: bool) -> bool {
    !holds
}

/// `recover.sql`: whether the job is shown to `me` as held by it.
pub fn is_shown_as_held<Id: PartialEq + Copy>(job: JobState, held_by: Option<Id>, me: &Id) -> bool {
    job == JobState::Running && held_by == Some(*me)
}

/// `recover.sql`: whether the job's holder is shown as a worker without a row.
pub fn is_held_by_nobody(job: JobState, holder: Option<Standing>) -> bool {
    job == JobState::Running && holder.is_none()
}

/// `cancel()`: whether an operator ends the job.
pub fn is_cancelled(job: JobState) -> bool {
    matches!(job, JobState::Pending | JobState::Running)
}

/// `redrive()`: whether the job begins a new life. A parked one waits for its effect's owner.
pub fn is_redriven(job: JobState, reason: Option<Reason>) -> bool {
    job == JobState::Failed && reason != Some(Reason::Unknown)
}

/// `resolve()`: whether the job is one that an owner's answer moves.
pub fn is_answered(job: JobState, reason: Option<Reason>) -> bool {
    job == JobState::Failed && reason == Some(Reason::Unknown)
}
