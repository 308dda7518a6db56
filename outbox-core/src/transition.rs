//! What becomes of a job: the rules of claim, settle and rescue, as functions of nothing but their arguments.
//!
//! The statements in the database are held to these rules by the engine's conformance tests.
//!
//! ```text
//!              claim                settle
//!   pending ──────────▶ running ─┬──────────▶ succeeded      never changes again
//!      ▲                   │     └──────────▶ failed ──┐     leaves only by redrive
//!      └───────────────────┘                           │
//!        retry, snooze, return, rescue                 │
//!      └──────────────────── redrive ──────────────────┘
//! ```
//!
//! A job is *parked* that is failed, reason unknown: whether it had its effect is not known. It is not redriven; the owner of the effect
//! answers, and it is due again, or succeeded without another call.

use std::fmt;
use std::time::Duration;

use crate::failure::Verdict;
use crate::outcome::Outcome;
use crate::retry::Backoff;

/// Crashes after which a job ends, unless its own `max_attempts` is lower.
pub const DEFAULT_CRASH_LIMIT: u32 = 3;

/// The stored states of a job. There are no others (S0-5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Waits until it is due and a worker has room.
    Pending,
    /// Held by a living worker's lease.
    Running,
    /// Done for good.
    Succeeded,
    /// Ended badly; listed, and re-runnable by `redrive` only.
    Failed,
}

impl JobState {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Pending, Self::Running, Self::Succeeded, Self::Failed];

    /// The stored word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }

    /// The state of a stored word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether `next` may follow. An operator's cancel takes a pending or running job to failed; an owner's answer a parked one to
    /// succeeded.
    #[must_use]
    pub const fn may_become(self, next: Self) -> bool {
        matches!(
            (self, next),
            (Self::Pending, Self::Running | Self::Failed)
                | (Self::Running, Self::Pending | Self::Succeeded | Self::Failed)
                | (Self::Failed, Self::Pending | Self::Succeeded)
        )
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a job ended, where its state alone does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Succeeded: its `when` declined the event.
    Skipped,
    /// Succeeded: its handler found nothing to do any more.
    Discarded,
    /// Succeeded: its effect was already there, by the inbox.
    Duplicate,
    /// Succeeded: it was parked, and the owner of its effect said that it took place.
    Confirmed,
    /// Failed: no execution was left.
    Exhausted,
    /// Failed: it took its process down too often.
    Crashed,
    /// Failed: it cannot be decoded, or its handler said that no retry will help.
    Quarantined,
    /// Failed: an operator ended it.
    Cancelled,
    /// Failed: it was too old when its turn came, and its handler was not called.
    Expired,
    /// Failed: whether its effect took place is not known. It is parked until the effect's owner has answered.
    Unknown,
}

impl Reason {
    /// The stored word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Discarded => "discarded",
            Self::Duplicate => "duplicate",
            Self::Confirmed => "confirmed",
            Self::Exhausted => "exhausted",
            Self::Crashed => "crashed",
            Self::Quarantined => "quarantined",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Unknown => "unknown",
        }
    }
}

/// What the owner of an effect says of it, when the outbox does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// It took place: the job has succeeded, and its handler is not called again.
    TookEffect,
    /// It did not, and will not any more by that call: the job is due again.
    DidNot,
}

/// The counters of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Counts {
    /// Executions begun, the present one included. Counted by the claim.
    pub attempts: u32,
    /// Executions allowed.
    pub max_attempts: u32,
    /// How often its process died while it was held.
    pub crashes: u32,
}

/// What becomes of a running job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Next {
    /// Ends as succeeded.
    Succeeded(Option<Reason>),
    /// Ends as failed.
    Failed(Reason),
    /// Due again after the delay; the attempt counts.
    Retry(Duration),
    /// Due again after the delay; the attempt is refunded.
    Snooze(Duration),
    /// As if it had never been claimed: due as before, the attempt refunded.
    Return,
}

impl Next {
    /// The state that follows `running`.
    #[must_use]
    pub const fn state(self) -> JobState {
        match self {
            Self::Succeeded(_) => JobState::Succeeded,
            Self::Failed(_) => JobState::Failed,
            Self::Retry(_) | Self::Snooze(_) | Self::Return => JobState::Pending,
        }
    }
}

/// As a log line says it: `the job is ...`.
impl fmt::Display for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Succeeded(None) => f.write_str("succeeded"),
            Self::Succeeded(Some(reason)) => write!(f, "succeeded, reason {}", reason.as_str()),
            Self::Failed(Reason::Unknown) => f.write_str("parked, because nobody knows whether it had its effect"),
            Self::Failed(reason) => write!(f, "failed, reason {}", reason.as_str()),
            Self::Retry(delay) => write!(f, "tried again in {delay:.1?}"),
            Self::Snooze(delay) => write!(f, "put off for {delay:.1?}"),
            Self::Return => f.write_str("given back"),
        }
    }
}

/// What becomes of a job whose handler came to `outcome`. `jitter` is a random number from 0 up to 1.
#[must_use]
pub fn settle(counts: Counts, outcome: &Outcome, backoff: Backoff, jitter: f64) -> Next {
    let verdict = match outcome {
        Outcome::Done => return Next::Succeeded(None),
        Outcome::Skipped => return Next::Succeeded(Some(Reason::Skipped)),
        Outcome::Failed { verdict, .. } => *verdict,
    };
    let again = |delay| {
        if counts.attempts >= counts.max_attempts { Next::Failed(Reason::Exhausted) } else { Next::Retry(delay) }
    };
    match verdict {
        Verdict::Retry => again(backoff.delay(counts.attempts, jitter)),
        Verdict::RetryAfter(delay) => again(delay),
        Verdict::Snooze(delay) => Next::Snooze(delay),
        Verdict::Discard => Next::Succeeded(Some(Reason::Discarded)),
        Verdict::Quarantine => Next::Failed(Reason::Quarantined),
        // Whatever the counts: the last attempt may have had its effect as well as the first.
        Verdict::Unknown => Next::Failed(Reason::Unknown),
    }
}

/// What a call comes to that was broken off, by its time, a panic or its worker's end: an ordinary failure, or, of a handler that parks
/// what is unknown, nobody knows what.
#[must_use]
pub fn broken_off(parks: bool) -> Verdict {
    if parks { Verdict::Unknown } else { Verdict::Retry }
}

/// What becomes of a parked job by the answer of its effect's owner. It begins a new life when it is due again.
#[must_use]
pub fn answered(answer: Answer) -> Next {
    match answer {
        Answer::TookEffect => Next::Succeeded(Some(Reason::Confirmed)),
        Answer::DidNot => Next::Retry(Duration::ZERO),
    }
}

/// What becomes of a running job whose worker died. The attempt was counted by the claim and is not refunded, so that a
/// job that takes its process down ends (S0-31). `in_doubt`: the worker held another job that had crashed before, so that either
/// can be the guilty one; a job that had crashed before gets its attempt back then, because it has paid for a neighbour already, and
/// the crash makes it run alone from now on. `parks`: its handler is never repeated blindly.
#[must_use]
pub fn rescue(counts: Counts, crash_limit: u32, in_doubt: bool, parks: bool) -> Next {
    if parks {
        Next::Failed(Reason::Unknown)
    } else if counts.crashes.saturating_add(1) >= crash_limit {
        Next::Failed(Reason::Crashed)
    } else if in_doubt && counts.crashes > 0 {
        Next::Return
    } else if counts.attempts >= counts.max_attempts {
        Next::Failed(Reason::Crashed)
    } else {
        Next::Retry(Duration::ZERO)
    }
}

/// How careful a claim must be with a job: what its process's death would cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Risk {
    /// It has attempts to spare and never crashed: may wait in memory behind others.
    None,
    /// Its next execution is its last, or its process died before: only into a free slot, started at once, so that it is not
    /// charged for a neighbour's crash while it waits.
    Exposed,
    /// Its process died before, and died again or may not die again: as above, and no two such jobs at once in one process, so that
    /// the guilty one is known.
    Alone,
}

/// The risk of a job that is about to be claimed, by the counters before the claim.
#[must_use]
pub fn risk(attempts_so_far: u32, max_attempts: u32, crashes: u32, crash_limit: u32) -> Risk {
    let is_last = attempts_so_far.saturating_add(1) >= max_attempts;
    match crashes {
        0 if is_last => Risk::Exposed,
        0 => Risk::None,
        1 if crash_limit > 2 && !is_last => Risk::Exposed,
        _ => Risk::Alone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn failed(verdict: Verdict) -> Outcome {
        Outcome::Failed { verdict, error: "boom".into() }
    }

    fn counts(attempts: u32, max_attempts: u32) -> Counts {
        Counts { attempts, max_attempts, crashes: 0 }
    }

    fn settled(counts: Counts, outcome: &Outcome) -> Next {
        settle(counts, outcome, Backoff::fixed(Duration::from_secs(1)), 0.0)
    }

    /// S0-26: `max_attempts` is the number of executions allowed; the last one that fails ends the job.
    #[test]
    fn the_last_allowed_execution_ends_the_job() {
        let retry = failed(Verdict::Retry);
        assert_eq!(settled(counts(2, 3), &retry), Next::Retry(Duration::from_secs(1)));
        assert_eq!(settled(counts(3, 3), &retry), Next::Failed(Reason::Exhausted));
        assert_eq!(settled(counts(1, 1), &retry), Next::Failed(Reason::Exhausted));
        // max_attempts lowered behind the job's back must not strand it
        assert_eq!(settled(counts(9, 3), &retry), Next::Failed(Reason::Exhausted));
    }

    /// B9b: a delay that the handler asks for counts as an attempt and stops at the limit.
    #[test]
    fn retry_after_counts() {
        let later = failed(Verdict::RetryAfter(Duration::from_secs(9)));
        assert_eq!(settled(counts(1, 2), &later), Next::Retry(Duration::from_secs(9)));
        assert_eq!(settled(counts(2, 2), &later), Next::Failed(Reason::Exhausted));
    }

    /// S0-5: exactly these transitions are legal.
    #[test]
    fn the_states_follow_each_other_only_as_drawn() {
        use JobState::{Failed, Pending, Running, Succeeded};
        let legal: Vec<_> = JobState::ALL
            .iter()
            .flat_map(|from| JobState::ALL.iter().map(move |to| (*from, *to)))
            .filter(|(from, to)| from.may_become(*to))
            .collect();
        let expected = [
            (Pending, Running),
            (Pending, Failed),
            (Running, Pending),
            (Running, Succeeded),
            (Running, Failed),
            (Failed, Pending),
            (Failed, Succeeded),
        ];
        assert_eq!(legal, expected);
        assert!(JobState::ALL.into_iter().all(|state| JobState::from_word(state.as_str()) == Some(state)));
        assert_eq!(JobState::from_word("done"), None);
    }

    /// B19, S0-31: a worker that dies on the last attempt leaves a failed job, never a running one.
    #[test]
    fn a_crash_on_the_last_attempt_ends_the_job() {
        let rescue = |counts, limit, in_doubt| rescue(counts, limit, in_doubt, false);
        assert_eq!(rescue(counts(1, 1), 3, false), Next::Failed(Reason::Crashed));
        assert_eq!(rescue(Counts { crashes: 1, ..counts(2, 8) }, 3, false), Next::Retry(Duration::ZERO));
        assert_eq!(rescue(Counts { crashes: 2, ..counts(3, 8) }, 3, true), Next::Failed(Reason::Crashed));
        assert_eq!(rescue(Counts { crashes: 1, ..counts(2, 8) }, 3, true), Next::Return);
        assert_eq!(rescue(counts(2, 8), 3, true), Next::Retry(Duration::ZERO));
    }

    /// S2-72: an effect of which nobody knows is not tried again, whatever attempts are left; only its owner's answer moves the job.
    #[test]
    fn what_is_unknown_is_parked_whatever_the_counts() {
        for (attempts, max_attempts) in [(1, 1), (1, 8), (8, 8), (9, 8)] {
            let counts = counts(attempts, max_attempts);
            assert_eq!(settled(counts, &failed(Verdict::Unknown)), Next::Failed(Reason::Unknown));
            assert_eq!(settled(counts, &failed(broken_off(true))), Next::Failed(Reason::Unknown));
            for in_doubt in [false, true] {
                assert_eq!(rescue(counts, 3, in_doubt, true), Next::Failed(Reason::Unknown));
            }
        }
        assert_eq!(broken_off(false), Verdict::Retry);
        for answer in [Answer::TookEffect, Answer::DidNot] {
            assert!(JobState::Failed.may_become(answered(answer).state()));
        }
    }

    #[test]
    fn risk_is_read_from_the_counters() {
        assert_eq!(risk(0, 8, 0, 3), Risk::None);
        assert_eq!(risk(0, 1, 0, 3), Risk::Exposed);
        assert_eq!(risk(7, 8, 0, 3), Risk::Exposed);
        assert_eq!(risk(1, 8, 1, 3), Risk::Exposed);
        assert_eq!(risk(1, 2, 1, 3), Risk::Alone);
        assert_eq!(risk(1, 8, 1, 2), Risk::Alone);
        assert_eq!(risk(1, 8, 2, 9), Risk::Alone);
    }

    proptest! {
        /// Whatever a handler answers, the step is legal, ends in bounded executions, and refunds only what charges nothing.
        #[test]
        fn every_life_ends_within_its_attempts(max in 1..20_u32, verdicts in proptest::collection::vec(0..3_u8, 60)) {
            let mut attempts = 0;
            for kind in verdicts {
                attempts += 1;
                prop_assert!(attempts <= max);
                let outcome = failed(match kind { 0 => Verdict::Retry, 1 => Verdict::RetryAfter(Duration::ZERO), _ => Verdict::Snooze(Duration::ZERO) });
                let next = settled(counts(attempts, max), &outcome);
                prop_assert!(JobState::Running.may_become(next.state()));
                match next {
                    Next::Snooze(_) | Next::Return => attempts -= 1,
                    Next::Retry(_) => prop_assert!(attempts < max),
                    Next::Succeeded(_) | Next::Failed(_) => break,
                }
            }
        }
    }
}
