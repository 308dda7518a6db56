//! How far a feed has read: what it asks for next, and whether the answer is all of it.
//!
//! Each read brings what the last read's snapshot does not show. It looks at ids from a margin before the last *sweep* on; a sweep, every two
//! seconds, looks further back as well, for what the last sweep's snapshot does not show. So each event is in one of them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::step::live::{Found, Look};

/// How much older than its transaction's number an event's id may be, for a read to find it: a publisher makes the id, by its own clock, and
/// then sends the statement. In milliseconds, as all times here.
const MARGIN: i64 = 5_000;
/// The same for a sweep.
const FAR: i64 = 60 * 60 * 1_000;
/// Where so much was published that a look as far back as that would take long, this much has to do.
const LEAST: i64 = 1_000;
/// How often it sweeps.
const SWEEP_EVERY: i64 = 2_000;
/// Most ids of one look, and most events and bytes of one answer.
const MOST_LOOKED: i32 = 20_000;
const MOST: i64 = 2_000;
const MOST_BYTES: i64 = 8 * 1024 * 1024;

/// The last read, and the last sweep.
#[derive(Debug)]
pub(crate) struct Tail {
    server: DateTime<Utc>,
    snapshot: String,
    read_at: i64,
    swept: Sweep,
    /// A transaction that was open for long has ended: what it published may lie below what reads look at.
    sweep_now: bool,
}

#[derive(Debug)]
struct Sweep {
    snapshot: String,
    at: i64,
    /// The transactions that were open, by their numbers, and since when at the earliest.
    open: BTreeMap<u64, i64>,
}

/// What a read came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Took {
    /// Its events are all that has become visible.
    All,
    /// Too much has; of these types, or nobody knows of which.
    Skipped(Option<Vec<String>>),
    /// Another server answered, or the same one anew: its numbers say nothing of what was read before.
    AnotherServer,
}

impl Tail {
    /// What the first read asks for: where things stand.
    pub(crate) fn first_look() -> Look {
        Look { near: Uuid::max(), low: Uuid::max(), most_looked: 1, ..Look::default() }
    }

    /// Behind the first read. `open_since`: when the oldest transaction that it found open has begun, or before that.
    pub(crate) fn begin(found: &Found, open_since: i64) -> Self {
        let open = open_in(&found.snapshot).map(|xid| (xid, open_since)).collect();
        let swept = Sweep { snapshot: found.snapshot.clone(), at: found.read_at, open };
        Self { server: found.server, snapshot: found.snapshot.clone(), read_at: found.read_at, swept, sweep_now: false }
    }

    /// Whether the next read is to be a sweep. `idle`: how long ago the last read was.
    pub(crate) fn sweeps(&self, idle: i64) -> bool {
        self.sweep_now || self.read_at + idle - self.swept.at >= SWEEP_EVERY
    }

    /// Whether the next read is not to wait.
    pub(crate) fn is_urgent(&self) -> bool {
        self.sweep_now
    }

    /// What the next read asks for.
    pub(crate) fn look(&self, sweep: bool) -> Look {
        let near = floor(self.swept.at - MARGIN);
        let read = Look {
            since: Some(self.snapshot.clone()),
            near,
            low: near,
            most_looked: MOST_LOOKED,
            most: MOST,
            most_bytes: MOST_BYTES,
            ..Look::default()
        };
        if !sweep {
            return read;
        }
        Look {
            since_sweep: Some(self.swept.snapshot.clone()),
            low: floor(self.swept.at - FAR),
            open: self.swept.open.keys().map(u64::to_string).collect(),
            open_low: self.swept.open.values().map(|since| floor(since - FAR)).collect(),
            ..read
        }
    }

    /// Moves on to this read, which was the answer to [`look`](Self::look).
    pub(crate) fn take(&mut self, found: &Found, sweep: bool) -> Took {
        if found.server != self.server {
            return Took::AnotherServer;
        }
        let now_open: Vec<u64> = open_in(&found.snapshot).collect();
        // How far back it may have published, of a transaction that has ended: further than reads look, if it was open for long.
        let ended = self.swept.open.iter().filter(|(xid, _)| !now_open.contains(xid)).map(|(_, since)| *since);
        let long_open = ended.filter(|since| *since < self.swept.at - MARGIN).min();
        let needed = if sweep { long_open.map_or(self.read_at, |since| since.min(self.read_at)) } else { self.read_at };
        (self.snapshot, self.read_at) = (found.snapshot.clone(), found.read_at);
        self.sweep_now = !sweep && long_open.is_some();
        if sweep {
            // One that was not open at the last sweep got its number behind it.
            let since = |xid: &u64| self.swept.open.get(xid).copied().unwrap_or(self.swept.at);
            let open = now_open.iter().map(|xid| (*xid, since(xid))).collect();
            self.swept = Sweep { snapshot: found.snapshot.clone(), at: found.read_at, open };
        }
        match &found.skipped {
            _ if found.cut_at.is_some_and(|lowest| lowest > floor(needed - LEAST)) => Took::Skipped(None),
            Some(types) => Took::Skipped(Some(types.clone())),
            None => Took::All,
        }
    }
}

/// The transactions that a snapshot, `xmin:xmax:xid,xid`, shows as open.
fn open_in(snapshot: &str) -> impl Iterator<Item = u64> {
    snapshot.rsplit(':').next().unwrap_or_default().split(',').filter_map(|xid| xid.parse().ok())
}

/// The smallest id of an instant.
fn floor(millis: i64) -> Uuid {
    Uuid::from_u128(u128::from(millis.max(0).unsigned_abs()) << 80)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn found(snapshot: &str, read_at: i64) -> Found {
        Found {
            snapshot: snapshot.to_owned(),
            server: DateTime::UNIX_EPOCH,
            read_at,
            took: Duration::ZERO,
            cut_at: None,
            skipped: None,
            events: Vec::new(),
        }
    }

    /// B21: a transaction that stays open is looked for as far back as it may reach, for as long as it is open; when it has ended, at
    /// once.
    #[test]
    fn an_open_transaction_keeps_its_own_bound() {
        let mut tail = Tail::begin(&found("7:9:7", 100_000_000), 40_000_000);
        assert_eq!(tail.look(true).open, ["7"]);
        assert_eq!(tail.look(true).open_low, [floor(40_000_000 - FAR)]);
        assert_eq!(tail.take(&found("7:12:7,10", 200_000_000), true), Took::All);
        assert_eq!(tail.look(true).open, ["7", "10"]);
        assert_eq!(tail.look(true).open_low, [floor(40_000_000 - FAR), floor(100_000_000 - FAR)]);
        // A read that finds it ended is followed by a sweep, which forgets it.
        assert_eq!(tail.take(&found("10:12:10", 200_000_500), false), Took::All);
        assert!(tail.is_urgent() && tail.sweeps(0));
        assert_eq!(tail.look(true).open, ["7", "10"]);
        assert_eq!(tail.take(&found("10:12:10", 200_000_510), true), Took::All);
        assert!(!tail.is_urgent() && !tail.sweeps(0));
        assert_eq!(tail.look(true).open, ["10"]);
        assert_eq!(tail.take(&found("12:12:", 300_000_000), true), Took::All);
        assert!(tail.look(true).open.is_empty());
    }

    /// B21: between two sweeps the border stays where it is, so that an event is on one side of it for all reads.
    #[test]
    fn reads_and_sweeps_share_the_ids_between_them() {
        let mut tail = Tail::begin(&found("9:9:", 100_000), 0);
        let near = floor(95_000);
        for (read_at, snapshot) in [(100_500, "10:10:"), (101_000, "11:11:")] {
            assert!(!tail.sweeps(500));
            assert_eq!((tail.look(false).near, tail.look(false).low, tail.look(false).since_sweep), (near, near, None));
            assert_eq!(tail.take(&found(snapshot, read_at), false), Took::All);
        }
        assert!(tail.sweeps(1_000));
        let sweep = tail.look(true);
        assert_eq!((sweep.near, sweep.low), (near, floor(0)));
        assert_eq!((sweep.since.as_deref(), sweep.since_sweep.as_deref()), (Some("11:11:"), Some("9:9:")));
        assert_eq!(tail.take(&found("12:12:", 102_000), true), Took::All);
        assert_eq!((tail.look(false).near, tail.look(true).since_sweep.as_deref()), (floor(97_000), Some("12:12:")));
    }

    /// Transactions that are open for a moment, of which there always are some, make no sweep urgent.
    #[test]
    fn a_short_transaction_makes_no_sweep_urgent() {
        let mut tail = Tail::begin(&found("7:9:7", 100_000), 98_000);
        assert_eq!(tail.take(&found("12:12:", 100_500), false), Took::All);
        assert!(!tail.is_urgent());
    }

    /// S1-40: a look that did not come down far enough is a gap, and one that came down further than is needed is none.
    #[test]
    fn a_look_that_was_cut_short_is_a_gap() {
        let cut = |at| Found { cut_at: Some(floor(at)), ..found("12:12:", 200_000) };
        for sweep in [false, true] {
            let take = |at| Tail::begin(&found("9:9:", 100_000), 0).take(&cut(at), sweep);
            assert_eq!(take(99_001), Took::Skipped(None));
            assert_eq!(take(99_000), Took::All);
        }
        // With a transaction that has ended, a sweep has to reach back as far as that may.
        let take = |at| Tail::begin(&found("7:9:7", 100_000), 50_000).take(&cut(at), true);
        assert_eq!(take(99_000), Took::Skipped(None));
        assert_eq!(take(49_000), Took::All);
        // While it stays open it is not asked about.
        let mut tail = Tail::begin(&found("7:9:7", 100_000), 50_000);
        assert_eq!(tail.take(&Found { snapshot: "7:12:7".into(), ..cut(99_000) }, true), Took::All);
    }

    #[test]
    fn more_than_is_read_is_a_gap_for_these_types() {
        let mut tail = Tail::begin(&found("9:9:", 100_000), 0);
        let types = vec!["order.placed".to_owned()];
        let much = Found { skipped: Some(types.clone()), ..found("12:12:", 200_000) };
        assert_eq!(tail.take(&much, false), Took::Skipped(Some(types)));
        // And it goes on from there.
        assert_eq!(tail.look(false).since.as_deref(), Some("12:12:"));
    }

    #[test]
    fn another_server_is_known_by_its_start() {
        let mut tail = Tail::begin(&found("9:9:", 100_000), 0);
        let other = Found { server: DateTime::UNIX_EPOCH + Duration::from_secs(1), ..found("12:12:", 200_000) };
        assert_eq!(tail.take(&other, false), Took::AnotherServer);
    }
}
