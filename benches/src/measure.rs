//! What is read of a cell: one work done once by one side.

use serde::{Deserialize, Serialize};

use crate::protocol::{Done, Introduction};
use crate::stats::Latency;

/// What a rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Events,
    Jobs,
}

impl Unit {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Events => "event",
            Self::Jobs => "job",
        }
    }
}

/// One work, done once by one side.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub(crate) side: String,
    pub(crate) round: u32,
    #[serde(flatten)]
    pub(crate) introduction: Introduction,
    #[serde(flatten)]
    pub(crate) done: Done,
    /// Of the single operations, where the contestant timed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) latency_ms: Option<Latency>,
    /// The same of the second half, where the two are told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) late_latency_ms: Option<Latency>,
    #[serde(flatten)]
    pub(crate) readings: Readings,
}

impl Cell {
    /// Latencies are kept as what matters of them: they can be many.
    pub(crate) fn new(side: &str, round: u32, mut done: Done, readings: Readings) -> Self {
        let latency_ms = Latency::of(std::mem::take(&mut done.latencies_ms));
        let late_latency_ms = Latency::of(std::mem::take(&mut done.late_latencies_ms));
        let introduction = Introduction::default();
        Self { side: side.to_owned(), round, introduction, done, latency_ms, late_latency_ms, readings }
    }
}

/// What the conductor read beside it. `None`: the system or the server does not tell.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Readings {
    pub(crate) wal_bytes: u64,
    /// Of the contestant's process, user and system.
    pub(crate) cpu_seconds: Option<f64>,
    /// Most memory of the contestant's process from `go` on.
    pub(crate) peak_mb: Option<f64>,
    /// Statements that the server ran, `begin` and `commit` among them.
    pub(crate) statements: Option<u64>,
    /// Pages of the shared buffers that they touched, found there or read.
    pub(crate) pages: Option<u64>,
    /// Left behind, of all tables together.
    pub(crate) dead_tuples: u64,
    /// Tables with their indexes.
    pub(crate) table_mb: f64,
}

/// A figure of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Units a second.
    Rate,
    /// WAL bytes a unit.
    Wal,
    /// Processor seconds of the client for 100,000 units.
    Cpu,
    PeakMb,
    /// Statements a unit.
    Statements,
    /// Pages touched, a unit.
    Pages,
    Dead,
    TableMb,
    /// The last step's rate, as a part of the first one's.
    Tail,
    /// From `go` until the last of it.
    Seconds,
    /// The 99th percentile of the second half, as a multiple of the first one's.
    Later,
    /// Milliseconds that half of the single operations took at most, ..
    P50,
    /// .. 95 of a hundred, ..
    P95,
    /// .. and 99.
    P99,
}

/// A handler can begin before the answer to the commit has come. Such a latency counts as a microsecond, so that a ratio to it is one.
const LEAST_MS: f64 = 0.001;

impl Measure {
    /// The figure, where it is known.
    pub(crate) fn of(self, cell: &Cell, unit: Unit) -> Option<f64> {
        let units = units(&cell.done, unit);
        let readings = &cell.readings;
        let figure = match self {
            Self::Rate => units / cell.done.seconds,
            Self::Wal => count(readings.wal_bytes) / units,
            Self::Cpu => readings.cpu_seconds? * 100_000.0 / units,
            Self::PeakMb => readings.peak_mb?,
            Self::Statements => count(readings.statements?) / units,
            Self::Pages => count(readings.pages?) / units,
            Self::Dead => count(readings.dead_tuples),
            Self::TableMb => readings.table_mb,
            Self::Tail => cell.done.steps.last()? / cell.done.steps.first()?,
            Self::Seconds => cell.done.seconds,
            Self::Later => cell.late_latency_ms?.p99 / cell.latency_ms?.p99.max(LEAST_MS),
            Self::P50 => cell.latency_ms?.p50.max(LEAST_MS),
            Self::P95 => cell.latency_ms?.p95.max(LEAST_MS),
            Self::P99 => cell.latency_ms?.p99.max(LEAST_MS),
        };
        figure.is_finite().then_some(figure)
    }

    /// Whether more is better.
    pub(crate) fn more_is_better(self) -> bool {
        matches!(self, Self::Rate | Self::Tail)
    }
}

fn units(done: &Done, unit: Unit) -> f64 {
    count(match unit {
        Unit::Events => done.events.unwrap_or(0),
        Unit::Jobs => done.jobs,
    })
}

#[expect(clippy::cast_precision_loss, reason = "below 2^53")]
fn count(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A cell of `jobs` jobs in a second.
    pub(crate) fn cell(side: &str, round: u32, jobs: u64) -> Cell {
        let done = Done { seconds: 1.0, jobs, ..Done::default() };
        Cell::new(side, round, done, Readings { wal_bytes: 1_000, ..Readings::default() })
    }

    #[test]
    fn figures_are_a_unit_a_second_or_a_hundred_thousand() {
        let mut cell = cell("ours", 0, 500);
        cell.done = Done { seconds: 2.0, events: Some(100), steps: vec![10.0, 7.0, 5.0], ..cell.done };
        cell.readings.cpu_seconds = Some(0.1);
        assert_eq!(Measure::Rate.of(&cell, Unit::Jobs), Some(250.0));
        assert_eq!(Measure::Rate.of(&cell, Unit::Events), Some(50.0));
        assert_eq!(Measure::Wal.of(&cell, Unit::Jobs), Some(2.0));
        assert_eq!(Measure::Cpu.of(&cell, Unit::Jobs), Some(20.0));
        assert_eq!(Measure::Tail.of(&cell, Unit::Jobs), Some(0.5));
    }

    #[test]
    fn a_latency_is_its_quantile_and_never_less_than_a_microsecond() {
        let done = Done { seconds: 1.0, jobs: 3, latencies_ms: vec![3.0, -0.2, 2.0], ..Done::default() };
        let timed = Cell::new("ours", 0, done, Readings::default());
        assert_eq!(Measure::P50.of(&timed, Unit::Jobs), Some(2.0));
        assert_eq!(Measure::Later.of(&timed, Unit::Jobs), None, "the halves are not told apart");
        let done = Done { latencies_ms: vec![2.0], late_latencies_ms: vec![5.0], ..Done::default() };
        assert_eq!(Measure::Later.of(&Cell::new("ours", 0, done, Readings::default()), Unit::Jobs), Some(2.5));
        let done = Done { seconds: 1.0, jobs: 1, latencies_ms: vec![-0.2], ..Done::default() };
        let early = Cell::new("peer", 0, done, Readings::default());
        assert_eq!(Measure::P99.of(&early, Unit::Jobs), Some(LEAST_MS));
    }

    #[test]
    fn what_was_not_measured_is_no_figure() {
        let cell = cell("ours", 0, 0);
        assert_eq!(Measure::Tail.of(&cell, Unit::Jobs), None);
        assert_eq!(Measure::PeakMb.of(&cell, Unit::Jobs), None);
        assert_eq!(Measure::P50.of(&cell, Unit::Jobs), None);
        assert_eq!(Measure::Wal.of(&cell, Unit::Jobs), None, "no unit was done");
    }
}
