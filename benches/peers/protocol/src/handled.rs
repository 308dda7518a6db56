//! Which jobs were handled, and when the last one began.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

static RECORD: OnceLock<Record> = OnceLock::new();

struct Record {
    seen: Vec<AtomicBool>,
    jobs: AtomicU64,
    runs: AtomicU64,
    starts: Starts,
}

enum Starts {
    /// Only the end of all is told.
    Last(UnboundedSender<Instant>),
    /// Every first start is told.
    Each(UnboundedSender<Instant>),
}

/// To be called by the handler of a job, first thing.
pub fn handled(number: u64) {
    if let Some(record) = RECORD.get() {
        record.add(number);
    }
}

/// From now on jobs with numbers below this are counted, each once; the end of all is told.
pub(crate) fn count(jobs: u64) -> UnboundedReceiver<Instant> {
    record(jobs, Starts::Last)
}

/// From now on the first start of each job with a number below this is told.
pub(crate) fn each(jobs: u64) -> UnboundedReceiver<Instant> {
    record(jobs, Starts::Each)
}

/// How often a handler was called.
pub(crate) fn runs() -> u64 {
    RECORD.get().map_or(0, |record| record.runs.load(Ordering::Relaxed))
}

fn record(jobs: u64, starts: fn(UnboundedSender<Instant>) -> Starts) -> UnboundedReceiver<Instant> {
    let (sender, receiver) = unbounded_channel();
    let seen = (0..jobs).map(|_| AtomicBool::new(false)).collect();
    let record = Record { seen, jobs: AtomicU64::new(0), runs: AtomicU64::new(0), starts: starts(sender) };
    assert!(RECORD.set(record).is_ok(), "a contestant does one work");
    receiver
}

impl Record {
    fn add(&self, number: u64) {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let Some(seen) = usize::try_from(number).ok().and_then(|number| self.seen.get(number)) else { return };
        if seen.swap(true, Ordering::Relaxed) {
            return;
        }
        let jobs = self.jobs.fetch_add(1, Ordering::Relaxed) + 1;
        // Nobody listens any more once the work is done.
        let _ = match &self.starts {
            Starts::Each(sender) => sender.send(Instant::now()),
            Starts::Last(sender) if jobs == self.seen.len() as u64 => sender.send(Instant::now()),
            Starts::Last(_) => Ok(()),
        };
    }
}
