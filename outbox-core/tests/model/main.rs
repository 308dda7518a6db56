//! A model of the engine, small enough to be looked at in full: two processes, one or two jobs, and everything that can happen to
//! them, in every order. Each step is decided by the engine's own rules; what only a statement decides stands in `mirror.rs`, which
//! the conformance suite holds to the statements.

#![allow(missing_docs, unreachable_pub, missing_debug_implementations, reason = "tests")]
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]
#![allow(clippy::print_stdout, reason = "says how much was looked at")]

mod checker;
mod mirror;
mod mutants;
mod rules;
mod steps;
mod world;

use checker::{Explored, explore};
use rules::{Rules, Size};

const ONE: Size = Size {
    jobs: 1,
    max_attempts: 2,
    crash_limit: 2,
    slots: 2,
    transactional: false,
    redrives: 0,
    rows_deleted: 0,
    parks: false,
    quiet: false,
};

/// Two jobs with attempts to spare, whose handlers do nothing but fail and take their process down.
const QUIET: Size = Size { jobs: 2, max_attempts: 3, crash_limit: 3, quiet: true, ..ONE };

fn explored(sizes: impl IntoIterator<Item = Size>) -> Explored {
    let mut all = Explored::default();
    for size in sizes {
        let explored = explore(&Rules::TRUE, size).unwrap_or_else(|violation| panic!("{size:?}: {violation:#?}"));
        println!("{size:?}: {} worlds, {} steps", explored.worlds, explored.steps);
        all.worlds += explored.worlds;
        all.steps += explored.steps;
    }
    println!("in all {} worlds, {} steps", all.worlds, all.steps);
    all
}

fn limits() -> impl Iterator<Item = (u32, u32, bool)> {
    // A crash limit above the attempts changes nothing.
    (1..=3).flat_map(|max| {
        (1..=max).flat_map(move |crashes| [false, true].map(|transactional| (max, crashes, transactional)))
    })
}

/// One job, for every small limit, with and without the transaction; through two lives; and with a worker's row that somebody deletes.
#[test]
fn one_job_is_never_lost_or_doubled() {
    let limited = limits().map(|(max_attempts, crash_limit, transactional)| Size {
        max_attempts,
        crash_limit,
        transactional,
        ..ONE
    });
    let twice = [false, true].map(|transactional| Size { redrives: 1, max_attempts: 1, transactional, ..ONE });
    let rowless = [Size { rows_deleted: 1, ..ONE }];
    let explored = explored(limited.chain(twice).chain(rowless));
    assert!(explored.worlds > 100_000, "{explored:?}");
}

/// S2-72: one job whose handler parks what is unknown, for every small limit, with redrives and the answers of its effect's owner: no call
/// begins while nobody knows whether an earlier one had its effect.
#[test]
fn no_effect_is_tried_again_blindly() {
    let sizes = (1..=2).flat_map(|max_attempts| {
        (1..=max_attempts).map(move |crash_limit| Size { max_attempts, crash_limit, parks: true, redrives: 1, ..ONE })
    });
    let explored = explored(sizes);
    assert!(explored.worlds > 1_000, "{explored:?}");
}

/// Two jobs beside each other, with everything that can happen to them; and, in two slots and in one, with attempts to spare.
#[test]
fn two_jobs_are_never_lost_or_doubled() {
    let two = Size { jobs: 2, max_attempts: 1, crash_limit: 1, ..ONE };
    let explored = explored([two, QUIET, Size { slots: 1, ..QUIET }]);
    assert!(explored.worlds > 200_000, "{explored:?}");
}
