//! Counts what was done, and remembers when each fifth of it was.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::sync::watch;

/// Of this process.
pub(super) static TALLY: Tally = Tally::new();

const STEPS: usize = 5;

/// How much is expected, how much is done.
#[derive(Debug)]
pub(super) struct Tally {
    expected: AtomicU64,
    done: AtomicU64,
    began: OnceLock<Instant>,
    ends: [OnceLock<Instant>; STEPS],
    complete: OnceLock<watch::Sender<bool>>,
}

impl Tally {
    const fn new() -> Self {
        Self {
            expected: AtomicU64::new(u64::MAX),
            done: AtomicU64::new(0),
            began: OnceLock::new(),
            ends: [const { OnceLock::new() }; STEPS],
            complete: OnceLock::new(),
        }
    }

    /// From now on, so many are expected.
    pub(super) fn begin(&self, expected: u64) {
        self.expected.store(expected, Ordering::Relaxed);
        self.complete.get_or_init(|| watch::Sender::new(false));
        self.began.get_or_init(Instant::now);
    }

    /// So many more are done.
    pub(super) fn count(&self, more: u64) {
        let before = self.done.fetch_add(more, Ordering::Relaxed);
        let (expected, after) = (self.expected.load(Ordering::Relaxed), before + more);
        let step = |done: u64| done.min(expected) / (expected / STEPS as u64).max(1);
        for ended in step(before)..step(after) {
            if let Some(end) = usize::try_from(ended).ok().and_then(|ended| self.ends.get(ended)) {
                end.get_or_init(Instant::now);
            }
        }
        if before < expected && after >= expected {
            self.complete.get_or_init(|| watch::Sender::new(false)).send_replace(true);
        }
    }

    /// Waits until all that is expected is done.
    pub(super) async fn completed(&self) {
        let mut complete = self.complete.get_or_init(|| watch::Sender::new(false)).subscribe();
        // The sender is never dropped.
        let _ = complete.wait_for(|complete| *complete).await;
    }

    /// Jobs a second of each fifth.
    pub(super) fn steps(&self) -> Vec<f64> {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        let fifth = (self.expected.load(Ordering::Relaxed) / STEPS as u64) as f64;
        let ends = self.ends.iter().map_while(OnceLock::get);
        let begins = self.began.get().into_iter().chain(self.ends.iter().map_while(OnceLock::get));
        begins.zip(ends).map(|(begin, end)| fifth / end.duration_since(*begin).as_secs_f64().max(1e-9)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_is_complete_when_all_that_is_expected_is_done() {
        let tally = Tally::new();
        tally.begin(10);
        (0..9).for_each(|_| tally.count(1));
        assert_eq!(tally.steps().len(), 4);
        assert!(!*tally.complete.get().unwrap().borrow());
        tally.count(1);
        tally.completed().await;
        assert_eq!(tally.steps().len(), 5);
    }

    #[tokio::test]
    async fn what_is_done_in_batches_ends_several_fifths_at_once() {
        let tally = Tally::new();
        tally.begin(1_000);
        tally.count(450);
        assert_eq!(tally.steps().len(), 2);
        tally.count(550);
        tally.completed().await;
        assert!(tally.steps().iter().all(|rate| rate.is_finite() && *rate > 0.0));
        assert_eq!(tally.steps().len(), 5);
    }
}
