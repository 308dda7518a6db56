//! What waits for one stream, bounded.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use outbox_core::{Envelope, EventId};

use super::position::LivePosition;

/// What a live stream brings.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Live {
    /// An event has been committed. Shared by all streams of the process.
    Event(Arc<Envelope>),
    /// Something is, or may be, missing before what comes next: read anew what you show. What a query sees from now on and what comes
    /// behind this are together all there is; an event can be in both.
    Missed(Missed),
}

/// Why a stream tells its consumer to read anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Missed {
    /// It has just begun, and stands from here on: nothing is missing, and nothing was read yet. The first item of every stream that did
    /// not go on from a position.
    Started,
    /// It was not emptied fast enough, so its buffer was.
    Slow,
    /// More was committed at once, or while the database was out of reach, than a feed reads.
    Behind,
    /// The database was started again, or is another one now.
    Restarted,
    /// The position that it was to go on from is not remembered here, or is none.
    Forgotten,
}

impl Missed {
    /// In one word: `started`, `slow`, `behind`, `restarted` or `forgotten`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Slow => "slow",
            Self::Behind => "behind",
            Self::Restarted => "restarted",
            Self::Forgotten => "forgotten",
        }
    }
}

/// How much may wait for one stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) events: usize,
    /// Of payloads. One event may always wait, however large.
    pub(crate) bytes: usize,
}

/// At most one gap, and behind it events. A gap stands for all that was before it, so nothing waits in front of one.
#[derive(Debug)]
pub(crate) struct Queue {
    limits: Limits,
    missed: Option<Missed>,
    events: VecDeque<Arc<Envelope>>,
    bytes: usize,
    /// Where a consumer stands that has taken everything ...
    passed: Option<LivePosition>,
    /// ... and where the one who asks stands.
    stands: Option<LivePosition>,
    /// Where that is behind the gap.
    behind_gap: Option<LivePosition>,
    ended: bool,
    waker: Option<Waker>,
}

/// What a consumer finds.
#[derive(Debug)]
pub(crate) enum Next {
    Item(Live),
    /// Its waker is kept.
    Nothing,
    Ended,
}

impl Queue {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            missed: None,
            events: VecDeque::new(),
            bytes: 0,
            passed: None,
            stands: None,
            behind_gap: None,
            ended: false,
            waker: None,
        }
    }

    /// Puts an event behind what waits. When there is no room, all of it goes, and a gap stands in its place: who reads anew behind it
    /// misses nothing, and what waits would be older than what he reads.
    pub(crate) fn push(&mut self, event: &Arc<Envelope>, feed: u32) -> Option<Waker> {
        let size = event.payload.as_json().len();
        let full = self.events.len() >= self.limits.events
            || (!self.events.is_empty() && self.bytes + size > self.limits.bytes);
        if full {
            self.gap(Missed::Slow, self.passed);
        }
        self.bytes += size;
        self.events.push_back(Arc::clone(event));
        self.pass(event.id, feed);
        self.waker.take()
    }

    /// An event went by, wanted or not.
    pub(crate) fn pass(&mut self, event: EventId, feed: u32) {
        self.passed = Some(LivePosition { event, feed });
    }

    /// What waits goes, and its consumer is told. `at` is where the feed stands.
    pub(crate) fn gap(&mut self, why: Missed, at: Option<LivePosition>) -> Option<Waker> {
        self.events = VecDeque::new();
        self.bytes = 0;
        self.missed = Some(why);
        (self.passed, self.behind_gap) = (at, at);
        self.waker.take()
    }

    /// Goes on from `at`, which the feed remembers.
    pub(crate) fn go_on(&mut self, at: LivePosition) {
        (self.passed, self.stands) = (Some(at), Some(at));
    }

    /// Nothing more comes. What waits can still be taken.
    pub(crate) fn end(&mut self) -> Option<Waker> {
        self.ended = true;
        self.waker.take()
    }

    pub(crate) fn take(&mut self, waker: &Waker) -> Next {
        if let Some(missed) = self.missed.take() {
            self.stands = self.behind_gap.take();
            return Next::Item(Live::Missed(missed));
        }
        match self.events.pop_front() {
            Some(event) => {
                self.bytes -= event.payload.as_json().len();
                self.stands = self.passed.map(|passed| LivePosition { event: event.id, ..passed });
                Next::Item(Live::Event(event))
            }
            None if self.ended => Next::Ended,
            None => {
                self.waker = Some(waker.clone());
                Next::Nothing
            }
        }
    }

    /// Where its consumer stands, once he has dealt with what he took.
    pub(crate) fn position(&self) -> Option<LivePosition> {
        let all_taken = self.events.is_empty() && self.missed.is_none();
        if all_taken { self.passed } else { self.stands }
    }

    /// How many events wait, and how many bytes of payload.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        (self.events.len(), self.bytes)
    }
}
