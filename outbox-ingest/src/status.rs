//! What can be seen and alerted on.

use std::time::{Duration, Instant};

use outbox_relay::LinkStatus;

/// How one source does in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IngestStatus {
    /// What it is called.
    pub source: String,
    /// Messages that came, since the process began.
    pub received: u64,
    /// Of these, new events.
    pub stored: u64,
    /// Of the new events, those that nobody receives at the moment.
    pub unrouted: u64,
    /// Events that were there already.
    pub duplicates: u64,
    /// No events here.
    pub quarantined: u64,
    /// Given back to the broker, because the database was away or the process ended.
    pub given_back: u64,
    /// Stored, and the broker could not be told so: they come again, as duplicates.
    pub unacknowledged: u64,
    /// In hand at this moment: neither acknowledged nor given back.
    pub held: u64,
    /// For how long nothing could be stored; `None` while all is well.
    pub failing_for: Option<Duration>,
    /// The last error of storing.
    pub last_error: Option<String>,
    /// The connection, and for how long it has been away.
    pub link: LinkStatus,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    pub(crate) received: u64,
    pub(crate) stored: u64,
    pub(crate) unrouted: u64,
    pub(crate) duplicates: u64,
    pub(crate) quarantined: u64,
    pub(crate) given_back: u64,
    pub(crate) unacknowledged: u64,
    pub(crate) held: u64,
    pub(crate) failing_since: Option<Instant>,
    pub(crate) last_error: Option<String>,
}

impl IngestStatus {
    pub(crate) fn new(source: &str, counts: Counts, link: LinkStatus) -> Self {
        Self {
            source: source.to_owned(),
            received: counts.received,
            stored: counts.stored,
            unrouted: counts.unrouted,
            duplicates: counts.duplicates,
            quarantined: counts.quarantined,
            given_back: counts.given_back,
            unacknowledged: counts.unacknowledged,
            held: counts.held,
            failing_for: counts.failing_since.map(|since| since.elapsed()),
            last_error: counts.last_error,
            link,
        }
    }
}
