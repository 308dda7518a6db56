//! What the services of a worker leave behind as they go, for [`health`](crate::health) to be read from: stamps and numbers in
//! memory, so that asking costs no statement and answers when the database does not.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::health::{Listening, Overdue, Stage, Starving};

/// When something last happened; never so far, or a moment of the process's monotonic clock.
#[derive(Debug, Default)]
pub(crate) struct Stamp(AtomicU64);

impl Stamp {
    const NEVER: u64 = 0;

    fn set(&self, origin: Instant, moment: Instant) {
        let millis = u64::try_from(moment.saturating_duration_since(origin).as_millis()).unwrap_or(u64::MAX - 1);
        self.0.store(millis + 1, Ordering::Release);
    }

    fn clear(&self) {
        self.0.store(Self::NEVER, Ordering::Release);
    }

    fn age(&self, origin: Instant) -> Option<Duration> {
        match self.0.load(Ordering::Acquire) {
            Self::NEVER => None,
            stamp => Some(origin.elapsed().saturating_sub(Duration::from_millis(stamp - 1))),
        }
    }
}

/// A service that is not getting through, since when, and what it was told last.
#[derive(Debug, Clone)]
pub(crate) struct Failing {
    pub(crate) since: Instant,
    pub(crate) failures: u32,
    pub(crate) error: String,
}

/// The signs of life of one outbox.
#[derive(Debug)]
pub(crate) struct Vitals {
    origin: Instant,
    stage: AtomicU8,
    turned: Stamp,
    claimed: Stamp,
    renewed: Stamp,
    running: AtomicU32,
    listening: AtomicU8,
    /// How often the listener had to connect again.
    reconnects: AtomicU64,
    failing: Mutex<BTreeMap<&'static str, Failing>>,
    overdue: Mutex<Vec<Overdue>>,
    /// When each of this process's schedules is due, as far as it knows.
    schedules: Mutex<Vec<(String, Instant)>>,
    /// Due jobs that no living worker runs, as of the last count.
    starving: Mutex<Vec<Starving>>,
}

impl Default for Vitals {
    fn default() -> Self {
        Self {
            origin: Instant::now(),
            stage: AtomicU8::new(Stage::Idle as u8),
            turned: Stamp::default(),
            claimed: Stamp::default(),
            renewed: Stamp::default(),
            running: AtomicU32::new(0),
            listening: AtomicU8::new(Listening::Off as u8),
            reconnects: AtomicU64::new(0),
            failing: Mutex::default(),
            overdue: Mutex::default(),
            schedules: Mutex::default(),
            starving: Mutex::default(),
        }
    }
}

impl Vitals {
    pub(crate) fn enter(&self, stage: Stage) {
        self.stage.store(stage as u8, Ordering::Release);
        if matches!(stage, Stage::Starting | Stage::Ended) {
            self.turned.clear();
            self.claimed.clear();
            self.renewed.clear();
            self.running.store(0, Ordering::Release);
            lock(&self.overdue).clear();
            lock(&self.schedules).clear();
            lock(&self.starving).clear();
        }
    }

    pub(crate) fn stage(&self) -> Stage {
        Stage::of(self.stage.load(Ordering::Acquire))
    }

    /// The worker's loop came round, with so many executions under way.
    pub(crate) fn turned(&self, running: u32) {
        self.turned.set(self.origin, Instant::now());
        self.running.store(running, Ordering::Release);
    }

    pub(crate) fn since_turned(&self) -> Option<Duration> {
        self.turned.age(self.origin)
    }

    pub(crate) fn running(&self) -> u32 {
        self.running.load(Ordering::Acquire)
    }

    /// A claim was answered.
    pub(crate) fn claimed(&self) {
        self.claimed.set(self.origin, Instant::now());
    }

    pub(crate) fn since_claimed(&self) -> Option<Duration> {
        self.claimed.age(self.origin)
    }

    /// The lease counts from `sent`.
    pub(crate) fn renewed(&self, sent: Instant) {
        self.renewed.set(self.origin, sent);
    }

    pub(crate) fn since_renewed(&self) -> Option<Duration> {
        self.renewed.age(self.origin)
    }

    pub(crate) fn listening_is(&self, listening: Listening) {
        let before = self.listening.swap(listening as u8, Ordering::AcqRel);
        if Listening::of(before) == Listening::Hears && listening == Listening::Connecting {
            self.reconnects.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn listening(&self) -> Listening {
        Listening::of(self.listening.load(Ordering::Acquire))
    }

    pub(crate) fn reconnects(&self) -> u64 {
        self.reconnects.load(Ordering::Relaxed)
    }

    /// `service` did not get through, once more.
    pub(crate) fn failing(&self, service: &'static str, failures: u32, error: String) {
        let mut failing = lock(&self.failing);
        let since = failing.get(service).map_or_else(Instant::now, |known| known.since);
        failing.insert(service, Failing { since, failures, error });
    }

    /// `service` gets through, or has ended.
    pub(crate) fn well(&self, service: &'static str) {
        lock(&self.failing).remove(service);
    }

    pub(crate) fn all_failing(&self) -> BTreeMap<&'static str, Failing> {
        lock(&self.failing).clone()
    }

    pub(crate) fn overdue_are(&self, overdue: Vec<Overdue>) {
        *lock(&self.overdue) = overdue;
    }

    pub(crate) fn schedules_are(&self, due: Vec<(String, Instant)>) {
        *lock(&self.schedules) = due;
    }

    /// Answers what starved before.
    pub(crate) fn starving_are(&self, starving: Vec<Starving>) -> Vec<Starving> {
        std::mem::replace(&mut *lock(&self.starving), starving)
    }

    pub(crate) fn starving(&self) -> Vec<Starving> {
        lock(&self.starving).clone()
    }

    /// Schedules that have been due for longer than `grace`, and for how long. One whose scheduler hears nothing becomes so by itself.
    pub(crate) fn late(&self, grace: Duration) -> Vec<(String, Duration)> {
        let schedules = lock(&self.schedules);
        let late = schedules.iter().map(|(name, due)| (name, due.elapsed())).filter(|(_, late)| *late > grace);
        late.map(|(name, late)| (name.clone(), late)).collect()
    }

    pub(crate) fn overdue(&self) -> Vec<Overdue> {
        lock(&self.overdue).clone()
    }
}

/// What is kept here is whole after every statement, so a panic elsewhere leaves it usable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_tells_never_from_just_now() {
        let (origin, stamp) = (Instant::now(), Stamp::default());
        assert_eq!(stamp.age(origin), None);
        stamp.set(origin, origin);
        assert!(stamp.age(origin).is_some());
        stamp.clear();
        assert_eq!(stamp.age(origin), None);
    }

    /// Q7: a connection that was never heard on is no reconnect; one that went silent is, once.
    #[test]
    fn a_reconnect_is_counted_once() {
        let vitals = Vitals::default();
        for listening in [Listening::Connecting, Listening::Connecting, Listening::Hears, Listening::Connecting] {
            vitals.listening_is(listening);
        }
        vitals.listening_is(Listening::Connecting);
        assert_eq!(vitals.reconnects(), 1);
    }

    #[test]
    fn a_failure_keeps_its_beginning_and_goes_when_all_is_well() {
        let vitals = Vitals::default();
        vitals.failing("claim", 1, "first".into());
        let since = vitals.all_failing()["claim"].since;
        vitals.failing("claim", 2, "second".into());
        let known = &vitals.all_failing()["claim"];
        assert_eq!((known.since, known.failures, known.error.as_str()), (since, 2, "second"));
        vitals.well("claim");
        assert!(vitals.all_failing().is_empty());
    }
}
