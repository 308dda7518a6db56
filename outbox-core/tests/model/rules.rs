//! The rules that the model takes its steps by: the engine's own, or, to see that each matters, all but one.

use outbox_core::transition::{self, Counts, JobState, Next, Reason, Risk};
use outbox_core::{Backoff, Outcome, Verdict};

use crate::mirror;
use crate::world::{Hold, Job};

/// The size of a model.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub jobs: usize,
    pub max_attempts: u32,
    pub crash_limit: u32,
    pub slots: u32,
    /// The handler takes the transaction.
    pub transactional: bool,
    /// Redrives of a job at most, and rows that somebody deletes.
    pub redrives: u8,
    pub rows_deleted: u8,
    /// The handler parks what is unknown.
    pub parks: bool,
    /// Handlers fail or take their process down, and nothing else happens.
    pub quiet: bool,
}

/// How the engine decides. Each is a function or a switch, so that a test can take one out.
#[derive(Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "each is a rule by itself")]
pub struct Rules {
    pub settle: fn(Counts, &Outcome) -> Next,
    /// What the statement makes of a retry without an attempt left.
    pub retry_of_the_last: fn(Counts) -> bool,
    pub refund: i8,
    pub rescue: fn(Counts, u32, bool, bool) -> Next,
    /// What a call that was broken off comes to.
    pub broken_off: fn(bool) -> Verdict,
    /// What a worker that shuts down gives back goes through the same.
    pub parks_at_shutdown: bool,
    /// And what an operator cancels that runs.
    pub parks_at_cancel: bool,
    /// Which jobs a redrive, and an owner's answer, move.
    pub is_redriven: fn(JobState, Option<Reason>) -> bool,
    pub is_answered: fn(JobState, Option<Reason>) -> bool,
    pub risk: fn(Counts, u32) -> Risk,
    pub is_accepted: fn(&Job, &Hold) -> bool,
    /// The same of the commit of a handler that takes the transaction.
    pub commit_is_accepted: fn(&Job, &Hold) -> bool,
    /// A rescue looks at the lease.
    pub rescues_the_expired_only: bool,
    /// A worker that cannot renew cancels before its lease ends.
    pub stops_in_time: bool,
    /// Looks for jobs that stand as held and are not in hand.
    pub recovers: bool,
    /// And leaves those that are in hand.
    pub knows_what_is_in_hand: bool,
    pub is_buried: fn(mirror::Standing, bool) -> bool,
    /// Jobs of workers whose row is gone are taken back.
    pub recovers_the_rowless: bool,
    /// The inbox is looked at, and written with the effect.
    pub marks: bool,
    /// A redrive counts from nothing.
    pub redrive_resets: bool,
    /// Which states an operator may cancel.
    pub is_cancelled: fn(JobState) -> bool,
}

impl Rules {
    /// The engine's.
    pub const TRUE: Self = Self {
        settle: |counts, outcome| transition::settle(counts, outcome, Backoff::DEFAULT, 0.0),
        retry_of_the_last: |counts| counts.attempts < counts.max_attempts,
        refund: 1,
        rescue: transition::rescue,
        broken_off: transition::broken_off,
        parks_at_shutdown: true,
        parks_at_cancel: true,
        is_redriven: mirror::is_redriven,
        is_answered: mirror::is_answered,
        risk: |before, limit| transition::risk(before.attempts, before.max_attempts, before.crashes, limit),
        is_accepted: |job, hold| mirror::is_accepted(job.state, job.claim, &hold.claim),
        commit_is_accepted: |job, hold| mirror::is_accepted(job.state, job.claim, &hold.claim),
        rescues_the_expired_only: true,
        stops_in_time: true,
        recovers: true,
        knows_what_is_in_hand: true,
        is_buried: mirror::is_buried,
        recovers_the_rowless: true,
        marks: true,
        redrive_resets: true,
        is_cancelled: mirror::is_cancelled,
    };
}
