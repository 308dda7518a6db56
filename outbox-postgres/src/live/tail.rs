//! How far a feed has read: what it asks for next, and whether the answer is all of it.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::step::live::{Found, Look};

/// How much older than its transaction's number an event's id may be: a publisher makes the id, by its own clock, and then sends the
/// statement. In milliseconds.
const MARGIN: i64 = 10_000;
/// Where so much was published meanwhile that a look as far back as that would take long, this much has to do.
const LEAST_MARGIN: i64 = 1_000;
/// Most ids of one look, and most events and bytes of one answer.
const MOST_LOOKED: i32 = 20_000;
const MOST: i64 = 2_000;
const MOST_BYTES: i64 = 8 * 1024 * 1024;

/// The last read.
#[derive(Debug)]
pub(crate) struct Tail {
    snapshot: String,
    server: DateTime<Utc>,
    read_at: i64,
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
        Look { low: Uuid::max(), most_looked: 1, ..Look::default() }
    }

    /// Behind the first read. `open_since`: when the oldest transaction that it found open has begun, or before that.
    pub(crate) fn begin(found: &Found, open_since: i64) -> Self {
        let open = open_in(&found.snapshot).map(|xid| (xid, open_since)).collect();
        Self { snapshot: found.snapshot.clone(), server: found.server, read_at: found.read_at, open }
    }

    /// What the next read asks for.
    pub(crate) fn look(&self) -> Look {
        Look {
            since: Some(self.snapshot.clone()),
            low: floor(self.read_at - MARGIN),
            open: self.open.keys().map(u64::to_string).collect(),
            open_low: self.open.values().map(|since| floor(since - MARGIN)).collect(),
            most_looked: MOST_LOOKED,
            most: MOST,
            most_bytes: MOST_BYTES,
        }
    }

    /// Moves on to this read, which was the answer to [`look`](Self::look).
    pub(crate) fn take(&mut self, found: &Found) -> Took {
        if found.server != self.server {
            return Took::AnotherServer;
        }
        let now_open: Vec<u64> = open_in(&found.snapshot).collect();
        let ended = self.open.iter().filter(|(xid, _)| !now_open.contains(xid)).map(|(_, since)| *since);
        let needed = floor(ended.fold(self.read_at, i64::min) - LEAST_MARGIN);
        // One that was not open at the last read got its number behind it.
        let open = now_open.iter().map(|xid| (*xid, self.open.get(xid).copied().unwrap_or(self.read_at))).collect();
        *self = Self { snapshot: found.snapshot.clone(), server: found.server, read_at: found.read_at, open };
        match &found.skipped {
            _ if found.cut_at.is_some_and(|lowest| lowest > needed) => Took::Skipped(None),
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

    /// B21: a transaction that stays open is looked for as far back as it may reach, for as long as it is open.
    #[test]
    fn an_open_transaction_keeps_its_own_bound() {
        let mut tail = Tail::begin(&found("7:9:7", 100_000), 40_000);
        assert_eq!(tail.look().open, ["7"]);
        assert_eq!(tail.look().open_low, [floor(30_000)]);
        assert_eq!(tail.look().low, floor(90_000));
        assert_eq!(tail.take(&found("7:12:7,10", 200_000)), Took::All);
        assert_eq!(tail.look().open, ["7", "10"]);
        assert_eq!(tail.look().open_low, [floor(30_000), floor(90_000)]);
        assert_eq!(tail.take(&found("10:12:10", 300_000)), Took::All);
        assert_eq!(tail.look().open_low, [floor(90_000)]);
        assert_eq!(tail.take(&found("12:12:", 400_000)), Took::All);
        assert!(tail.look().open.is_empty());
    }

    /// S1-40: a look that did not come down far enough is a gap, and one that came down further than is needed is none.
    #[test]
    fn a_look_that_was_cut_short_is_a_gap() {
        let cut = |at| Found { cut_at: Some(floor(at)), ..found("12:12:", 200_000) };
        let take = |at| Tail::begin(&found("9:9:", 100_000), 0).take(&cut(at));
        assert_eq!(take(99_001), Took::Skipped(None));
        assert_eq!(take(99_000), Took::All);
        // With a transaction that has ended, it has to reach back as far as that may.
        let take = |at| Tail::begin(&found("7:9:7", 100_000), 50_000).take(&cut(at));
        assert_eq!(take(99_000), Took::Skipped(None));
        assert_eq!(take(49_000), Took::All);
        // While it stays open it is not asked about.
        let mut tail = Tail::begin(&found("7:9:7", 100_000), 50_000);
        assert_eq!(tail.take(&Found { snapshot: "7:12:7".into(), ..cut(99_000) }), Took::All);
    }

    #[test]
    fn more_than_is_read_is_a_gap_for_these_types() {
        let mut tail = Tail::begin(&found("9:9:", 100_000), 0);
        let types = vec!["order.placed".to_owned()];
        let much = Found { skipped: Some(types.clone()), ..found("12:12:", 200_000) };
        assert_eq!(tail.take(&much), Took::Skipped(Some(types)));
        // And it goes on from there.
        assert_eq!(tail.look().since.as_deref(), Some("12:12:"));
    }

    #[test]
    fn another_server_is_known_by_its_start() {
        let mut tail = Tail::begin(&found("9:9:", 100_000), 0);
        let other = Found { server: DateTime::UNIX_EPOCH + Duration::from_secs(1), ..found("12:12:", 200_000) };
        assert_eq!(tail.take(&other), Took::AnotherServer);
    }
}
