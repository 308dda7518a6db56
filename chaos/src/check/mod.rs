//! The rules, as pure functions of a history. Each counts what it looked at: a rule that looked at nothing proves nothing.

mod effects;
mod executions;
mod fan_out;
mod lives;
mod nodes;
mod publishes;
#[cfg(test)]
mod scene;
mod story;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::history::{History, JobKey};

pub use lives::{Ending, Life, Lives};
pub use story::story;

/// What must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Everything of a transaction that was answered as committed is there, once.
    CommittedIsThere,
    /// Nothing of a transaction that was rolled back is there.
    RolledBackIsNot,
    /// Of a transaction whose commit was not answered, everything is there or nothing.
    UnknownIsWhole,
    /// Whatever is stored was published by somebody.
    NothingFromNowhere,
    /// Each message has one job for each of its handlers, and no other.
    OneJobEach,
    /// What a transactional handler publishes is there once if its job succeeded, else not at all.
    FollowUpsOnce,
    /// Each change of a job's row is one of those that are drawn in the architecture.
    LegalSteps,
    /// A job is claimed from pending only: never two leases on it.
    OneLease,
    /// A claim is a living worker's.
    ClaimedByTheLiving,
    /// A claim counts one attempt, and never more than are allowed.
    AttemptsWithinLimit,
    /// Only the worker that holds a job's claim settles it.
    SettledByItsHolder,
    /// Jobs are taken from dead workers only, and that counts one crash.
    RescuedFromTheDead,
    /// A job that crashed too often fails, and not before.
    CrashesWithinLimit,
    /// What has ended never changes, but for a redrive, which begins a life from nothing.
    FinalIsFinal,
    /// Every job ends.
    EveryJobEnds,
    /// Those that are to succeed do, in the end; those that are to fail do not.
    EndsAsPlanned,
    /// The effect of a transactional handler is there once if its job succeeded, else not at all.
    EffectOnce,
    /// It is the effect of the execution whose commit settled the job.
    EffectOfItsClaim,
    /// A job that succeeded has an execution that came to its end, and its effect at least once.
    AtLeastOnce,
    /// No attempt is started more often than it was claimed.
    AttemptStartedOnce,
    /// A job has the same idempotency key at every execution, and no other job has it.
    OneKey,
    /// Two executions of a job overlap only when the lease of the first was lost, and only until it is cancelled.
    NoOverlap,
    /// Processes end by faults and when they are asked to, and not otherwise.
    NodesEndByFaults,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::CommittedIsThere,
        Self::RolledBackIsNot,
        Self::UnknownIsWhole,
        Self::NothingFromNowhere,
        Self::OneJobEach,
        Self::FollowUpsOnce,
        Self::LegalSteps,
        Self::OneLease,
        Self::ClaimedByTheLiving,
        Self::AttemptsWithinLimit,
        Self::SettledByItsHolder,
        Self::RescuedFromTheDead,
        Self::CrashesWithinLimit,
        Self::FinalIsFinal,
        Self::EveryJobEnds,
        Self::EndsAsPlanned,
        Self::EffectOnce,
        Self::EffectOfItsClaim,
        Self::AtLeastOnce,
        Self::AttemptStartedOnce,
        Self::OneKey,
        Self::NoOverlap,
        Self::NodesEndByFaults,
    ];

    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::CommittedIsThere => "a committed transaction is there, whole and once",
            Self::RolledBackIsNot => "nothing of a rolled back transaction is there",
            Self::UnknownIsWhole => "a transaction of unknown fate is there whole or not at all",
            Self::NothingFromNowhere => "whatever is stored was published",
            Self::OneJobEach => "one job for each handler of a message",
            Self::FollowUpsOnce => "what a transactional handler publishes is there once",
            Self::LegalSteps => "a job takes only the steps that there are",
            Self::OneLease => "never two leases on one job",
            Self::ClaimedByTheLiving => "only living workers claim",
            Self::AttemptsWithinLimit => "attempts stay within their limit",
            Self::SettledByItsHolder => "only the holder of a claim settles",
            Self::RescuedFromTheDead => "jobs are rescued from the dead only",
            Self::CrashesWithinLimit => "crashes stay within their limit",
            Self::FinalIsFinal => "what has ended changes only by a redrive",
            Self::EveryJobEnds => "every job ends",
            Self::EndsAsPlanned => "jobs end as they are meant to",
            Self::EffectOnce => "a transactional effect is there exactly once",
            Self::EffectOfItsClaim => "an effect is that of the claim that settled",
            Self::AtLeastOnce => "a job that succeeded was run to its end",
            Self::AttemptStartedOnce => "no attempt is started twice",
            Self::OneKey => "a job has one idempotency key",
            Self::NoOverlap => "executions of a job do not overlap",
            Self::NodesEndByFaults => "processes end by faults only",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// A rule that was broken.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Which.
    pub rule: Rule,
    /// How.
    pub what: String,
    /// The job that it is about.
    pub job: Option<JobKey>,
}

/// What the checker found.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// How often each rule was looked at.
    pub checked: BTreeMap<Rule, u64>,
    /// Where one was broken.
    pub violations: Vec<Violation>,
    /// Jobs taken from dead workers.
    pub rescued: u64,
    /// Lives that redrives began.
    pub redriven: u64,
    /// Claims of a job, an attempt each.
    pub claims: u64,
    /// Jobs.
    pub jobs: u64,
    /// Those that ended as succeeded, and as failed.
    pub ended: (u64, u64),
}

impl Verdict {
    fn looked_at(&mut self, rule: Rule) {
        *self.checked.entry(rule).or_default() += 1;
    }

    /// Looks at a rule once. `what` is asked for only where it is broken.
    fn expect<'a>(
        &mut self,
        rule: Rule,
        job: impl Into<Option<&'a JobKey>>,
        holds: bool,
        what: impl FnOnce() -> String,
    ) {
        self.looked_at(rule);
        if !holds {
            self.violations.push(Violation { rule, what: what(), job: job.into().cloned() });
        }
    }
}

/// Holds a history to every rule.
#[must_use]
pub fn check(history: &History) -> Verdict {
    let mut verdict = Verdict::default();
    publishes::check(history, &mut verdict);
    let lives = lives::check(history, &mut verdict);
    fan_out::check(history, &lives, &mut verdict);
    effects::check(history, &lives, &mut verdict);
    executions::check(history, &lives, &mut verdict);
    nodes::check(history, &mut verdict);
    verdict
}
