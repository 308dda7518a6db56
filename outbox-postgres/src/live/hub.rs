//! Who looks on in this process: every stream, the feed that they share, and the last events.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use outbox_core::Envelope;

use super::position::LivePosition;
use super::queue::{Limits, Missed, Queue};
use super::ring::Ring;
use super::seat::{From, Seat, Wants};

/// How many streams a process has, and what waits in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveLoad {
    /// Open streams.
    pub streams: usize,
    /// Events that wait for their consumers, in all of them. One that waits in many streams counts in each, and is in memory once.
    pub events: usize,
    /// Bytes of their payloads, counted likewise.
    pub bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feed {
    None,
    /// It is not known yet from where on events are complete.
    Starting,
    Stands,
}

#[derive(Debug)]
struct State {
    seats: BTreeMap<u64, Arc<Seat>>,
    next_seat: u64,
    feed: Feed,
    /// Which feed it is.
    number: u32,
    ring: Ring,
    closed: bool,
    /// Since when nobody has looked on.
    empty_since: Instant,
}

/// The streams of one outbox.
#[derive(Debug)]
pub(crate) struct Hub(Mutex<State>);

impl Default for Hub {
    fn default() -> Self {
        Self(Mutex::new(State {
            seats: BTreeMap::new(),
            next_seat: 0,
            feed: Feed::None,
            number: 0,
            ring: Ring::default(),
            closed: false,
            empty_since: Instant::now(),
        }))
    }
}

/// A new stream.
pub(crate) struct Joined {
    pub(crate) seat: Arc<Seat>,
    pub(crate) number: u64,
    /// There is no feed yet: it has to be started, as this one.
    pub(crate) feed: Option<u32>,
    /// Nobody looked on before, so that a feed that is still there has to listen again.
    pub(crate) first: bool,
}

impl Hub {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn join(&self, wants: Wants, limits: Limits, from: From) -> Joined {
        let mut state = self.state();
        let first = if matches!(from, From::Now) { Missed::Started } else { Missed::Forgotten };
        let mut queue = Queue::new(limits);
        if state.closed {
            queue.end();
        } else if state.feed == Feed::Stands {
            let at = state.position();
            match from {
                From::Position(position) if state.remembers(position) => {
                    queue.go_on(position);
                    for event in state.ring.behind(position.event).into_iter().flatten() {
                        if wants.event(event) {
                            queue.push(event, state.number);
                        } else {
                            queue.pass(event.id, state.number);
                        }
                    }
                }
                _ => drop(queue.gap(first, at)),
            }
        }
        let seat = Arc::new(Seat::new(wants, queue, first));
        let is_first = state.seats.is_empty();
        let number = state.next_seat;
        state.next_seat += 1;
        state.seats.insert(number, Arc::clone(&seat));
        let feed = (state.feed == Feed::None && !state.closed).then(|| {
            state.feed = Feed::Starting;
            state.number = rand::random();
            state.number
        });
        Joined { seat, number, feed, first: is_first }
    }

    /// Answers whether it was the last one.
    pub(crate) fn leave(&self, number: u64) -> bool {
        let mut state = self.state();
        state.seats.remove(&number);
        if state.seats.is_empty() {
            state.empty_since = Instant::now();
        }
        state.seats.is_empty()
    }

    /// The feed stands: from here on events are complete. Those that waited for it are told so; all of them are, and `why`, when it did
    /// before and begins anew.
    pub(crate) fn stand(&self, why: Missed) {
        let mut state = self.state();
        let anew = state.feed == Feed::Stands;
        state.feed = Feed::Stands;
        state.ring.clear();
        let wakers = state.each(|seat, queue| queue.gap(if anew { why } else { seat.first }, None));
        wake(state, wakers);
    }

    /// Hands events to whoever wants them.
    pub(crate) fn deliver(&self, events: Vec<Arc<Envelope>>) {
        let mut state = self.state();
        let number = state.number;
        let wakers = state.each(|seat, queue| {
            let mut waker = None;
            for event in &events {
                if seat.wants.event(event) {
                    waker = queue.push(event, number).or(waker);
                } else {
                    queue.pass(event.id, number);
                }
            }
            waker
        });
        for event in events {
            state.ring.push(event);
        }
        wake(state, wakers);
    }

    /// Events of these types, or of any, went by unread.
    pub(crate) fn skip(&self, types: Option<&[String]>) {
        let mut state = self.state();
        state.ring.clear();
        let wakers = state.each(|seat, queue| {
            let concerned = types.is_none_or(|types| types.iter().any(|one| seat.wants.type_of(one)));
            if concerned { queue.gap(Missed::Behind, None) } else { None }
        });
        wake(state, wakers);
    }

    /// Ends every stream, and every one that comes, until [`reopen`](Self::reopen).
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        let wakers = state.each(|_, queue| queue.end());
        wake(state, wakers);
    }

    pub(crate) fn reopen(&self) {
        self.state().closed = false;
    }

    pub(crate) fn load(&self) -> LiveLoad {
        let state = self.state();
        let none = LiveLoad { streams: state.seats.len(), events: 0, bytes: 0 };
        state.seats.values().map(|seat| seat.queue().waiting()).fold(none, |sum, (events, bytes)| LiveLoad {
            events: sum.events + events,
            bytes: sum.bytes + bytes,
            ..sum
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.state().seats.is_empty()
    }

    /// Whether the feed of this number may end: it is not the one, nobody has looked on for so long, or it is closed. Who joins later
    /// starts another.
    pub(crate) fn may_end(&self, feed: u32, linger: Duration) -> bool {
        let mut state = self.state();
        if state.number != feed || state.feed == Feed::None {
            return true;
        }
        let may = state.closed || (state.seats.is_empty() && state.empty_since.elapsed() >= linger);
        if may {
            state.feed = Feed::None;
            state.ring.clear();
        }
        may
    }

    /// The feed of this number is gone, for whatever reason. Those who still look on would wait for ever.
    pub(crate) fn feed_is_gone(&self, feed: u32) {
        let mut state = self.state();
        if state.number != feed || state.feed == Feed::None {
            return;
        }
        state.feed = Feed::None;
        state.ring.clear();
        let wakers = state.each(|_, queue| queue.end());
        wake(state, wakers);
    }
}

impl State {
    fn position(&self) -> Option<LivePosition> {
        self.ring.latest().map(|event| LivePosition { event, feed: self.number })
    }

    fn remembers(&self, position: LivePosition) -> bool {
        position.feed == self.number && self.ring.behind(position.event).is_some()
    }

    fn each(&self, mut act: impl FnMut(&Seat, &mut Queue) -> Option<Waker>) -> Vec<Waker> {
        self.seats.values().filter_map(|seat| act(seat, &mut seat.queue())).collect()
    }
}

/// Outside of the lock: what a waker does is its task's matter.
fn wake(state: MutexGuard<'_, State>, wakers: Vec<Waker>) {
    drop(state);
    wakers.into_iter().for_each(Waker::wake);
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use chrono::DateTime;
    use outbox_core::{EventId, Metadata, Payload, Subject};
    use uuid::Uuid;

    use super::*;
    use crate::live::queue::{Live, Next};

    const LIMITS: Limits = Limits { events: 4, bytes: 1_000 };

    fn join(hub: &Hub, from: From) -> Joined {
        hub.join(Wants { patterns: vec!["order.*".into()], tenant: None }, LIMITS, from)
    }

    fn event(number: u128) -> Vec<Arc<Envelope>> {
        vec![Arc::new(Envelope {
            id: EventId::from(Uuid::from_u128(number)),
            name: "order.placed".into(),
            version: 1,
            occurred_at: DateTime::UNIX_EPOCH,
            subject: Subject::default(),
            metadata: Metadata::default(),
            payload: Payload::from_json("{}"),
        })]
    }

    /// What a consumer finds, in short.
    fn take(joined: &Joined) -> String {
        match joined.seat.queue().take(Waker::noop()) {
            Next::Item(Live::Event(event)) => event.id.as_uuid().as_u128().to_string(),
            Next::Item(Live::Missed(why)) => why.as_str().to_owned(),
            Next::Nothing => "nothing".to_owned(),
            Next::Ended => "ended".to_owned(),
        }
    }

    /// The first stream asks for a feed, and no other does while there is one.
    #[test]
    fn one_feed_for_all() {
        let hub = Hub::default();
        let (first, second) = (join(&hub, From::Now), join(&hub, From::Nowhere));
        assert!(first.feed.is_some() && second.feed.is_none());
        assert_eq!((take(&first), take(&second)), ("nothing".into(), "nothing".into()));
        hub.stand(Missed::Behind);
        assert_eq!((take(&first), take(&second)), ("started".into(), "forgotten".into()));
        hub.deliver(event(1));
        assert_eq!((take(&first), take(&second)), ("1".into(), "1".into()));
        assert_eq!(take(&join(&hub, From::Now)), "started");
    }

    /// A feed stays while somebody looks on, and for a while behind that; who comes meanwhile keeps it, and who comes later starts
    /// another one.
    #[test]
    fn a_feed_ends_behind_the_last_stream() {
        let hub = Hub::default();
        let first = join(&hub, From::Now);
        let feed = first.feed.unwrap();
        hub.stand(Missed::Behind);
        assert!(!hub.may_end(feed, Duration::ZERO));
        assert!(hub.leave(first.number));
        assert!(!hub.may_end(feed, Duration::from_hours(1)));
        let second = join(&hub, From::Now);
        assert!(second.feed.is_none() && !hub.may_end(feed, Duration::ZERO));
        assert!(hub.leave(second.number));
        assert!(hub.may_end(feed, Duration::ZERO));
        let third = join(&hub, From::Now);
        assert!(third.feed.is_some());
        // The old one's end is no matter to those of the new one.
        hub.feed_is_gone(feed);
        assert_eq!(take(&third), "nothing");
    }

    /// A feed that is gone for whatever reason, a panic or the end of its runtime, ends its streams: nobody waits for ever.
    #[test]
    fn a_feed_that_is_gone_ends_its_streams() {
        let hub = Hub::default();
        let stream = join(&hub, From::Now);
        hub.stand(Missed::Behind);
        hub.deliver(event(1));
        hub.feed_is_gone(stream.feed.unwrap());
        assert_eq!((take(&stream), take(&stream), take(&stream)), ("started".into(), "1".into(), "ended".into()));
        assert!(join(&hub, From::Now).feed.is_some());
    }

    /// S1-40: behind a gap a position from before it is not gone on from, and neither is one of another feed.
    #[test]
    fn a_gap_is_between_a_position_and_what_follows() {
        let hub = Hub::default();
        let stream = join(&hub, From::Now);
        hub.stand(Missed::Behind);
        hub.deliver(event(1));
        assert_eq!((take(&stream), take(&stream)), ("started".into(), "1".into()));
        let before = stream.seat.queue().position().unwrap();
        hub.deliver(event(2));
        let back = join(&hub, From::Position(before));
        assert_eq!((take(&back), take(&back)), ("2".into(), "nothing".into()));
        let other = LivePosition { feed: before.feed ^ 1, ..before };
        assert_eq!(take(&join(&hub, From::Position(other))), "forgotten");
        hub.skip(Some(&["order.placed".to_owned()]));
        hub.deliver(event(3));
        assert_eq!((take(&stream), take(&stream)), ("behind".into(), "3".into()));
        assert_eq!(take(&join(&hub, From::Position(before))), "forgotten");
        hub.stand(Missed::Restarted);
        assert_eq!((take(&stream), take(&stream)), ("restarted".into(), "nothing".into()));
    }
}
