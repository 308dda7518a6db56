//! Each rule matters: without it the checker finds a violation, and says which.

use outbox_core::transition::{Counts, JobState, Next, Reason, Risk};
use outbox_core::{Outcome, Verdict};

use super::{ONE, QUIET};
use crate::checker::{self, explore};
use crate::mirror::Standing;
use crate::rules::{Rules, Size};

const TRUE: Rules = Rules::TRUE;

#[track_caller]
fn caught(rules: Rules, size: Size, expected: &str) {
    match explore(&rules, size) {
        Ok(explored) => panic!("nothing was found in {explored:?}"),
        Err(violation) => assert_eq!(violation.what, expected, "{violation:#?}"),
    }
}

fn forever(counts: Counts, outcome: &Outcome) -> Next {
    match outcome {
        Outcome::Failed { verdict: Verdict::Retry, .. } => Next::Retry(std::time::Duration::ZERO),
        _ => (TRUE.settle)(counts, outcome),
    }
}

#[test]
fn writes_without_a_fence_are_caught() {
    let rules = Rules { is_accepted: |job, _| job.state == JobState::Running, ..TRUE };
    caught(rules, ONE, checker::ACCEPTED_TWICE);
}

/// A refund repeats an attempt number, so it is no fence.
#[test]
fn a_fence_by_the_attempt_is_caught() {
    let rules = Rules {
        is_accepted: |job, hold| job.state == JobState::Running && u8::try_from(job.attempts) == Ok(hold.counts.0),
        ..TRUE
    };
    caught(rules, ONE, checker::ACCEPTED_TWICE);
}

#[test]
fn a_commit_without_fence_and_mark_is_caught() {
    let rules = Rules {
        commit_is_accepted: |job, _| matches!(job.state, JobState::Running | JobState::Succeeded),
        marks: false,
        ..TRUE
    };
    caught(rules, Size { transactional: true, ..ONE }, checker::EFFECT_TWICE);
}

#[test]
fn a_commit_of_a_job_that_was_taken_back_is_caught() {
    let rules = Rules { commit_is_accepted: |_, _| true, is_cancelled: |_| false, ..TRUE };
    caught(rules, Size { transactional: true, ..ONE }, checker::ILLEGAL);
}

#[test]
fn a_rescue_of_the_living_is_caught() {
    caught(Rules { rescues_the_expired_only: false, ..TRUE }, ONE, checker::RUN_TWICE);
}

#[test]
fn a_rescue_without_a_crash_limit_is_caught() {
    let rules = Rules { rescue: |counts, _, in_doubt, parks| (TRUE.rescue)(counts, u32::MAX, in_doubt, parks), ..TRUE };
    caught(rules, Size { max_attempts: 3, crash_limit: 1, ..ONE }, checker::TOO_MANY_DEATHS);
}

#[test]
fn a_rescue_that_always_returns_is_caught() {
    let rules = Rules { rescue: |_, _, _, _| Next::Retry(std::time::Duration::ZERO), ..TRUE };
    caught(rules, Size { max_attempts: 1, crash_limit: 3, ..ONE }, checker::TOO_MANY_ATTEMPTS);
}

#[test]
fn a_rescue_that_gives_up_at_once_is_caught() {
    let rules = Rules { rescue: |_, _, _, _| Next::Failed(Reason::Crashed), ..TRUE };
    caught(rules, ONE, checker::ENDED_EARLY);
}

#[test]
fn retries_without_end_are_caught() {
    let rules = Rules { settle: forever, retry_of_the_last: |_| true, ..TRUE };
    caught(rules, ONE, checker::TOO_MANY_ATTEMPTS);
}

/// A client that would retry for ever meets the row's own limit: one of the two is enough.
#[test]
fn the_rows_own_limit_is_enough() {
    assert!(explore(&Rules { settle: forever, ..TRUE }, Size { max_attempts: 1, ..ONE }).is_ok());
    assert!(explore(&Rules { retry_of_the_last: |_| true, ..TRUE }, Size { max_attempts: 1, ..ONE }).is_ok());
}

#[test]
fn a_failure_before_the_limit_is_caught() {
    let rules = Rules {
        settle: |counts, outcome| match (TRUE.settle)(counts, outcome) {
            Next::Retry(_) => Next::Failed(Reason::Exhausted),
            next => next,
        },
        ..TRUE
    };
    caught(rules, ONE, checker::ENDED_EARLY);
}

#[test]
fn a_refund_too_many_is_caught() {
    caught(Rules { refund: 2, ..TRUE }, ONE, checker::BELOW_ZERO);
}

#[test]
fn a_worker_that_stops_too_late_is_caught() {
    caught(Rules { stops_in_time: false, ..TRUE }, ONE, checker::RUN_TWICE);
}

#[test]
fn a_lost_answer_that_nobody_looks_for_is_caught() {
    caught(Rules { recovers: false, ..TRUE }, ONE, checker::LOST);
}

#[test]
fn giving_back_what_is_in_hand_is_caught() {
    caught(Rules { knows_what_is_in_hand: false, ..TRUE }, ONE, checker::RUN_TWICE);
}

#[test]
fn a_deleted_row_that_nobody_looks_for_is_caught() {
    caught(Rules { recovers_the_rowless: false, ..TRUE }, Size { rows_deleted: 1, ..ONE }, checker::LOST);
}

/// The look for jobs without a worker heals a burial that comes too early; without both the job is lost.
#[test]
fn a_burial_before_the_rescue_is_caught() {
    let early = Rules { is_buried: |standing, _| standing != Standing::Alive, ..TRUE };
    caught(Rules { recovers_the_rowless: false, ..early }, ONE, checker::LOST);
    assert!(explore(&early, Size { max_attempts: 1, ..ONE }).is_ok());
}

/// Of two jobs that crashed before and died side by side none is charged, or a neighbour pays for the guilty one again.
#[test]
fn charging_in_doubt_is_caught() {
    let strict = Rules { rescue: |counts, limit, _, parks| (TRUE.rescue)(counts, limit, false, parks), ..TRUE };
    caught(strict, QUIET, checker::BLAMED);
}

/// Jobs that crashed twice run one at a time, or a neighbour pays for the guilty one again and again.
#[test]
fn crashed_jobs_side_by_side_are_caught() {
    let blind = |before: Counts, limit| match (TRUE.risk)(before, limit) {
        Risk::Alone => Risk::None,
        risk => risk,
    };
    caught(Rules { risk: blind, ..TRUE }, QUIET, checker::BLAMED);
}

const PARKS: Size = Size { parks: true, redrives: 1, ..ONE };

#[test]
fn a_rescue_that_retries_what_is_unknown_is_caught() {
    let rules = Rules { rescue: |counts, limit, in_doubt, _| (TRUE.rescue)(counts, limit, in_doubt, false), ..TRUE };
    caught(rules, PARKS, checker::BLIND);
}

#[test]
fn a_timeout_that_is_a_retry_is_caught() {
    // The worker's end, and all else, is parked.
    let rules = Rules {
        broken_off: |_| Verdict::Unknown,
        settle: |counts, outcome| match (TRUE.settle)(counts, outcome) {
            Next::Failed(Reason::Unknown) => Next::Retry(std::time::Duration::ZERO),
            next => next,
        },
        ..TRUE
    };
    caught(rules, PARKS, checker::BLIND);
}

#[test]
fn a_shutdown_that_gives_back_what_runs_is_caught() {
    caught(Rules { parks_at_shutdown: false, ..TRUE }, PARKS, checker::BLIND);
}

#[test]
fn a_cancel_that_forgets_what_runs_is_caught() {
    caught(Rules { parks_at_cancel: false, ..TRUE }, PARKS, checker::BLIND);
}

#[test]
fn a_redrive_of_what_is_parked_is_caught() {
    caught(Rules { is_redriven: |state, _| state == JobState::Failed, ..TRUE }, PARKS, checker::BLIND);
}

#[test]
fn an_answer_to_what_is_not_parked_is_caught() {
    caught(Rules { is_answered: |state, _| state == JobState::Failed, ..TRUE }, PARKS, checker::TERMINAL_LEFT);
}

#[test]
fn a_redrive_that_keeps_the_count_is_caught() {
    let rules = Rules { redrive_resets: false, ..TRUE };
    caught(rules, Size { max_attempts: 1, crash_limit: 1, redrives: 1, ..ONE }, checker::TOO_MANY_ATTEMPTS);
}

#[test]
fn a_cancel_of_what_has_ended_is_caught() {
    caught(Rules { is_cancelled: |_| true, ..TRUE }, ONE, checker::TERMINAL_LEFT);
}
