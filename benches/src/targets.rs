//! The targets: which figure of which work is held against what.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use crate::measure::{Cell, Measure, Unit};
use crate::stats::Spread;
use crate::works::{BARE, EMPTY, KICK, LIMIT, OTHER, OURS, SAME, UNKNOWN, Work};

/// One line of the table of targets.
#[derive(Debug)]
pub(crate) struct Target {
    /// As the JSON names it. One key can have several lines.
    pub(crate) key: &'static str,
    pub(crate) work: &'static str,
    /// Whose figure it is.
    pub(crate) side: &'static str,
    pub(crate) measure: Measure,
    pub(crate) against: Against,
    pub(crate) bound: Bound,
}

/// What ours is divided by, in each round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Against {
    /// Nothing: the figure itself.
    Nothing,
    /// A side of this program.
    Side(&'static str),
    /// The other library that is best at it in this run.
    Peers,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bound {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(f, ">= {least}"),
            Self::AtMost(most) => write!(f, "<= {most}"),
        }
    }
}

const fn target(key: &'static str, work: &'static str, measure: Measure, against: Against, bound: Bound) -> Target {
    Target { key, work, side: OURS, measure, against, bound }
}

/// Beside so many jobs that are not to be claimed as fast as in empty tables.
const fn beside(side: &'static str) -> Target {
    Target { side, ..target("future_1m", "future_1m", Measure::Rate, Against::Side(EMPTY), Bound::AtLeast(0.95)) }
}

/// All of them.
pub(crate) static TARGETS: &[Target] = &[
    target("publish", "publish", Measure::Rate, Against::Side(LIMIT), Bound::AtLeast(0.90)),
    target("publish", "publish", Measure::Rate, Against::Side(BARE), Bound::AtLeast(0.75)),
    target("publish", "publish", Measure::Rate, Against::Peers, Bound::AtLeast(2.0)),
    target("publish_all", "publish_all", Measure::Rate, Against::Side(LIMIT), Bound::AtLeast(0.80)),
    target("publish_all", "publish_all", Measure::Rate, Against::Peers, Bound::AtLeast(1.0)),
    target("drain", "drain", Measure::Rate, Against::Side(LIMIT), Bound::AtLeast(0.80)),
    target("drain", "drain", Measure::Rate, Against::Peers, Bound::AtLeast(1.8)),
    target("drain_8", "drain_8", Measure::Rate, Against::Side(LIMIT), Bound::AtLeast(0.80)),
    target("drain_1m_tail", "drain_1m", Measure::Tail, Against::Nothing, Bound::AtLeast(0.90)),
    target("tx_drain", "tx_drain", Measure::Rate, Against::Side(LIMIT), Bound::AtLeast(0.85)),
    target("kick_ms", "kick", Measure::P50, Against::Side(LIMIT), Bound::AtMost(1.5)),
    target("kick_ms", "kick", Measure::P50, Against::Peers, Bound::AtMost(0.6)),
    target("notify_ms", "notify", Measure::P50, Against::Side(KICK), Bound::AtMost(2.0)),
    target("notify_ms", "notify", Measure::P50, Against::Peers, Bound::AtMost(1.0)),
    target("finished_1m", "finished_1m", Measure::Rate, Against::Side(EMPTY), Bound::AtLeast(0.95)),
    beside(SAME),
    beside(OTHER),
    beside(UNKNOWN),
    target("rescue_s", "rescue", Measure::Seconds, Against::Nothing, Bound::AtMost(3.0)),
    target("held_snapshot", "held_snapshot", Measure::Tail, Against::Nothing, Bound::AtLeast(0.95)),
    target("held_snapshot", "held_snapshot", Measure::Later, Against::Nothing, Bound::AtMost(3.0)),
    target("wal_drain", "drain", Measure::Wal, Against::Side(LIMIT), Bound::AtMost(1.15)),
    target("wal_drain", "drain", Measure::Wal, Against::Peers, Bound::AtMost(0.8)),
    target("wal_publish", "publish", Measure::Wal, Against::Side(LIMIT), Bound::AtMost(1.15)),
    target("wal_publish", "publish", Measure::Wal, Against::Peers, Bound::AtMost(0.8)),
    target("cpu_s", "drain", Measure::Cpu, Against::Peers, Bound::AtMost(0.5)),
    target("rss_mb", "drain_1m", Measure::PeakMb, Against::Nothing, Bound::AtMost(32.0)),
];

/// What became of a target.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Verdict {
    #[serde(skip)]
    pub(crate) key: &'static str,
    pub(crate) work: &'static str,
    /// Whose figure it is.
    pub(crate) side: &'static str,
    /// Whom it was held against.
    pub(crate) against: Option<String>,
    pub(crate) bound: String,
    /// Median of ours, and of the other.
    pub(crate) ours: Option<f64>,
    pub(crate) theirs: Option<f64>,
    /// Of the ratios, or of the figure where it is held against nothing.
    pub(crate) value: Option<Spread>,
    /// `None`: not in this run.
    pub(crate) met: Option<bool>,
}

impl Target {
    /// Judges by the cells of its work.
    pub(crate) fn judge(&self, work: &Work, cells: &[Cell]) -> Verdict {
        let figures = |side: &str| figures(cells, side, self.measure, work.unit);
        let ours = figures(self.side);
        let against = match self.against {
            Against::Nothing => None,
            Against::Side(side) => Some(side.to_owned()),
            Against::Peers => self.best_peer(work, cells),
        };
        let theirs = against.as_deref().map(figures);
        let value = match (&theirs, self.against) {
            (Some(theirs), _) => Spread::of(ratios(&ours, theirs)),
            (None, Against::Nothing) => Spread::of(ours.iter().map(|(_, figure)| *figure)),
            (None, _) => None,
        };
        let median = |figures: &[(u32, f64)]| Spread::of(figures.iter().map(|(_, figure)| *figure)).map(|it| it.median);
        Verdict {
            key: self.key,
            work: self.work,
            side: self.side,
            against: against.or_else(|| (self.against == Against::Peers).then(|| "peers".to_owned())),
            bound: self.bound.to_string(),
            ours: median(&ours),
            theirs: theirs.as_deref().and_then(median),
            value,
            met: value.map(|value| self.bound.is_met(value.median)),
        }
    }

    fn best_peer(&self, work: &Work, cells: &[Cell]) -> Option<String> {
        let others: BTreeSet<&str> = cells.iter().map(|cell| cell.side.as_str()).collect();
        let others = others.into_iter().filter(|side| !work.sides.contains(side));
        let rated = others.filter_map(|side| {
            let figures = figures(cells, side, self.measure, work.unit);
            Some((Spread::of(figures.into_iter().map(|(_, figure)| figure))?.median, side))
        });
        let best =
            rated.max_by(|(a, _), (b, _)| if self.measure.more_is_better() { a.total_cmp(b) } else { b.total_cmp(a) });
        best.map(|(_, side)| side.to_owned())
    }
}

/// A side's figures, by round.
pub(crate) fn figures(cells: &[Cell], side: &str, measure: Measure, unit: Unit) -> Vec<(u32, f64)> {
    let of_side = cells.iter().filter(|cell| cell.side == side);
    of_side.filter_map(|cell| Some((cell.round, measure.of(cell, unit)?))).collect()
}

/// Of those rounds that have both.
fn ratios<'a>(ours: &'a [(u32, f64)], theirs: &'a [(u32, f64)]) -> impl Iterator<Item = f64> + 'a {
    ours.iter().filter_map(|(round, mine)| {
        let (_, other) = theirs.iter().find(|(other, _)| other == round)?;
        Some(mine / other)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::cell;
    use crate::works::{WORKS, chosen};

    fn drain() -> &'static Work {
        chosen(&["drain".to_owned()]).unwrap()[0]
    }

    fn judged(against: Against, bound: Bound, cells: &[Cell]) -> Verdict {
        target("drain", "drain", Measure::Rate, against, bound).judge(drain(), cells)
    }

    #[test]
    fn ratios_are_made_within_a_round() {
        let cells =
            [cell("ours", 0, 80), cell("limit", 0, 100), cell("limit", 1, 50), cell("ours", 1, 45), cell("ours", 2, 1)];
        let verdict = judged(Against::Side(LIMIT), Bound::AtLeast(0.8), &cells);
        assert_eq!(verdict.value.map(|value| (value.n, (value.median * 100.0).round())), Some((2, 85.0)));
        assert_eq!((verdict.met, verdict.ours, verdict.theirs), (Some(true), Some(45.0), Some(75.0)));
        assert_eq!(judged(Against::Side(LIMIT), Bound::AtLeast(0.86), &cells).met, Some(false));
    }

    #[test]
    fn the_best_peer_is_the_one_to_beat() {
        let mut cells =
            vec![cell("ours", 0, 100), cell("limit", 0, 200), cell("river", 0, 20), cell("graphile", 0, 50)];
        let verdict = judged(Against::Peers, Bound::AtLeast(1.8), &cells);
        assert_eq!((verdict.against.as_deref(), verdict.met), (Some("graphile"), Some(true)));
        for (cell, wal) in cells.iter_mut().zip([600, 500, 900, 1_000]) {
            cell.readings.wal_bytes = wal * cell.done.jobs;
        }
        let wal = target("wal_drain", "drain", Measure::Wal, Against::Peers, Bound::AtMost(0.8)).judge(drain(), &cells);
        assert_eq!((wal.against.as_deref(), wal.met), (Some("river"), Some(true)), "the least is the best there");
    }

    #[test]
    fn without_the_other_side_nothing_is_judged() {
        let verdict = judged(Against::Peers, Bound::AtLeast(1.8), &[cell("ours", 0, 100), cell("limit", 0, 200)]);
        assert_eq!((verdict.value, verdict.met), (None, None));
        assert_eq!(judged(Against::Side(LIMIT), Bound::AtLeast(0.8), &[]).met, None);
    }

    #[test]
    fn every_target_is_of_a_work_that_is_there() {
        for target in TARGETS {
            let work = WORKS.iter().find(|work| work.key == target.work);
            assert!(work.is_some_and(|work| work.sides.contains(&target.side)), "{}", target.key);
        }
    }
}
