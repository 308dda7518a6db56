//! The works: what is measured, at which size, and who does it.

use crate::measure::{Measure, Unit};

/// Ours.
pub(crate) const OURS: &str = "ours";
/// The least SQL that does the same durable work.
pub(crate) const LIMIT: &str = "limit";
/// The least SQL that writes the same rows.
pub(crate) const BARE: &str = "bare";
/// Ours where the worker is in the process that publishes.
pub(crate) const KICK: &str = "kick";
/// Ours in tables that hold nothing else.
pub(crate) const EMPTY: &str = "empty";
/// Ours beside jobs of the same handlers that are not to be claimed: of the future at the same priority, ..
pub(crate) const SAME: &str = "same";
/// .. at the priority before it, ..
pub(crate) const OTHER: &str = "other";
/// .. or due, and of a version that nobody knows.
pub(crate) const UNKNOWN: &str = "unknown";

/// One line of the measurement.
#[derive(Debug)]
pub(crate) struct Work {
    /// As the arguments and the JSON name it.
    pub(crate) key: &'static str,
    pub(crate) what: &'static str,
    /// What a contestant is asked for.
    pub(crate) contest: &'static str,
    pub(crate) unit: Unit,
    /// The figure that it is done for.
    pub(crate) figure: Measure,
    /// Those of this program; the one whose figures its line of the table is about comes first.
    pub(crate) sides: &'static [&'static str],
    /// Whether other libraries do it too.
    pub(crate) open: bool,
    /// How much of it there is, at scale 1.
    pub(crate) sizes: &'static [(&'static str, u64)],
    /// Settings, which no scale changes.
    pub(crate) settings: &'static [(&'static str, u64)],
    /// Most rounds: for one that takes long.
    pub(crate) most_rounds: u32,
}

const EVERY: u32 = u32::MAX;
/// How long a steady load goes on at scale 1.
pub(crate) const MINUTES: f64 = 10.0;
/// A fraction of the work is no less than this.
const LEAST: u64 = 100;

/// All of them.
pub(crate) static WORKS: &[Work] = &[
    Work {
        key: "publish",
        what: "one event and its 5 jobs a transaction, 8 connections",
        contest: "publish",
        unit: Unit::Events,
        figure: Measure::Rate,
        sides: &[OURS, LIMIT, BARE],
        open: true,
        sizes: &[("events", 10_000)],
        settings: &[("connections", 8), ("fan-out", 5)],
        most_rounds: EVERY,
    },
    Work {
        key: "publish_all",
        what: "20,000 events and their 5 jobs each in one transaction",
        contest: "bulk",
        unit: Unit::Jobs,
        figure: Measure::Rate,
        sides: &[OURS, LIMIT],
        open: true,
        sizes: &[("events", 20_000)],
        settings: &[("fan-out", 5)],
        most_rounds: EVERY,
    },
    Work {
        key: "drain",
        what: "100,000 event jobs that do nothing, of 5 handlers, 2 connections, batches of 500",
        contest: "drain",
        unit: Unit::Jobs,
        figure: Measure::Rate,
        sides: &[OURS, LIMIT],
        open: true,
        sizes: &[("jobs", 100_000)],
        settings: &[("workers", 1), ("connections", 2), ("batch", 500), ("fan-out", 5)],
        most_rounds: EVERY,
    },
    Work {
        key: "drain_8",
        what: "the same, 8 workers, batches of 100",
        contest: "drain",
        unit: Unit::Jobs,
        figure: Measure::Rate,
        sides: &[OURS, LIMIT],
        open: false,
        sizes: &[("jobs", 100_000)],
        settings: &[("workers", 8), ("connections", 8), ("batch", 100), ("fan-out", 5)],
        most_rounds: EVERY,
    },
    Work {
        key: "drain_1m",
        what: "1,000,000 of them, 1 worker, batches of 500",
        contest: "drain",
        unit: Unit::Jobs,
        figure: Measure::Rate,
        sides: &[OURS],
        open: false,
        sizes: &[("jobs", 1_000_000)],
        settings: &[("workers", 1), ("connections", 2), ("batch", 500), ("fan-out", 5)],
        most_rounds: 3,
    },
    Work {
        key: "finished_1m",
        what: "100,000 of them beside 1,000,000 finished jobs that are kept",
        contest: "drain",
        unit: Unit::Jobs,
        figure: Measure::Rate,
        sides: &[OURS, EMPTY],
        open: false,
        sizes: &[("jobs", 100_000), ("finished", 1_000_000)],
        settings: &[("workers", 1), ("connections", 2), ("batch", 500), ("fan-out", 5)],
        most_rounds: EVERY,
    },
    Work {
        key: "future_1m",
        what: "100,000 of them beside 1,000,000 of the future, at the same or another priority, or of an unknown version",
        contest: "drain",
        unit: Unit::Jobs,
        figure: Measure::Rate,
        sides: &[SAME, OTHER, UNKNOWN, EMPTY],
        open: false,
        sizes: &[("jobs", 100_000), ("waiting", 1_000_000)],
        settings: &[("workers", 1), ("connections", 2), ("batch", 500), ("fan-out", 5)],
        most_rounds: EVERY,
    },
    Work {
        key: "tx_drain",
        what: "10,000 event jobs whose handler takes the transaction and inserts one row, 8 at a time",
        contest: "tx-drain",
        unit: Unit::Jobs,
        figure: Measure::Rate,
        sides: &[OURS, LIMIT],
        open: false,
        sizes: &[("jobs", 10_000)],
        settings: &[("connections", 8), ("batch", 100)],
        most_rounds: EVERY,
    },
    Work {
        key: "kick",
        what: "one event at a time to a worker at rest in the same process: from the commit's return to the handler's start",
        contest: "latency",
        unit: Unit::Jobs,
        figure: Measure::P50,
        sides: &[OURS, LIMIT],
        open: true,
        sizes: &[("samples", 200)],
        settings: &[("apart", 0)],
        most_rounds: EVERY,
    },
    Work {
        key: "notify",
        what: "the same to a worker that shares nothing with the publisher, and hears of it by NOTIFY",
        contest: "latency",
        unit: Unit::Jobs,
        figure: Measure::P50,
        sides: &[OURS, KICK],
        open: true,
        sizes: &[("samples", 200)],
        settings: &[("apart", 1)],
        most_rounds: EVERY,
    },
    Work {
        key: "rescue",
        what: "a worker is killed beside 1,000,000 waiting jobs: until the job that it held starts elsewhere, lease 2 s",
        contest: "rescue",
        unit: Unit::Jobs,
        figure: Measure::Seconds,
        sides: &[OURS],
        open: false,
        sizes: &[("jobs", 1_000_000)],
        settings: &[("lease", 2)],
        most_rounds: EVERY,
    },
    Work {
        key: "held_snapshot",
        what: "500 jobs a second for 10 minutes, or --minutes; from the middle on a reader holds a snapshot: the second half against the first",
        contest: "steady",
        unit: Unit::Jobs,
        figure: Measure::Tail,
        sides: &[OURS],
        open: false,
        sizes: &[("jobs", 300_000)],
        settings: &[("rate", 500)],
        most_rounds: 1,
    },
];

impl Work {
    /// Whether it is a load that goes on for some time, and no amount to be done.
    pub(crate) fn is_steady(&self) -> bool {
        self.settings.iter().any(|(key, _)| *key == "rate")
    }

    /// The arguments of its contestants.
    pub(crate) fn arguments(&self, scale: f64) -> Vec<(&'static str, u64)> {
        self.sizes.iter().map(|(key, size)| (*key, scaled(*size, scale))).chain(self.settings.iter().copied()).collect()
    }
}

/// Whether a side is one of this program.
pub(crate) fn is_own(side: &str) -> bool {
    WORKS.iter().any(|work| work.sides.contains(&side))
}

/// Whole hundreds, so that every fan-out divides them.
fn scaled(size: u64, scale: f64) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes are millions at most, and a scale is positive"
    )]
    let scaled = (size as f64 * scale) as u64;
    (scaled / LEAST * LEAST).max(LEAST)
}

/// Those that are named, or all.
pub(crate) fn chosen(only: &[String]) -> anyhow::Result<Vec<&'static Work>> {
    for key in only {
        let known = || WORKS.iter().map(|work| work.key).collect::<Vec<_>>().join(", ");
        anyhow::ensure!(WORKS.iter().any(|work| work.key == key), "there is no work `{key}`, but {}", known());
    }
    Ok(WORKS.iter().filter(|work| only.is_empty() || only.iter().any(|key| key == work.key)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_is_chosen_by_its_key_and_a_wrong_key_is_said() {
        let keys = |works: Vec<&Work>| works.iter().map(|work| work.key).collect::<Vec<_>>();
        assert_eq!(keys(chosen(&["drain".to_owned(), "publish".to_owned()]).unwrap()), ["publish", "drain"]);
        assert_eq!(chosen(&[]).unwrap().len(), WORKS.len());
        let error = chosen(&["drains".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("`drains`") && error.contains("publish_all"), "{error}");
    }

    #[test]
    fn keys_are_unique_and_ours_comes_first_where_others_take_part() {
        for (place, work) in WORKS.iter().enumerate() {
            assert!(!work.open || work.sides.first() == Some(&OURS), "{}", work.key);
            assert!(WORKS[..place].iter().all(|other| other.key != work.key), "{}", work.key);
        }
    }

    #[test]
    fn a_scale_changes_how_much_is_done_and_not_how() {
        let drain = chosen(&["drain".to_owned()]).unwrap()[0];
        let small = drain.arguments(0.0123);
        assert_eq!(small.first(), Some(&("jobs", 1_200)));
        assert_eq!(small[1..], *drain.settings);
        assert_eq!(drain.arguments(1e-9).first(), Some(&("jobs", 100)));
    }
}
