//! What every handler takes: it notes the beginning and the end of the execution, however that ends.

use std::sync::atomic::{AtomicU64, Ordering};

use outbox::{BoxError, Delivery, FromDelivery, Requirements, State};
use uuid::Uuid;

use crate::ledger::{Entry, How, Ledger};

static RUNS: AtomicU64 = AtomicU64::new(1);

/// An execution that is noted in the ledger. Dropped without a word, it was dropped, or it panicked.
#[derive(Debug)]
pub struct Seen {
    ledger: Ledger,
    run: u64,
    how: How,
    /// The event's id, or the job's.
    pub source: Uuid,
    /// Which attempt.
    pub attempt: u32,
    key: String,
}

impl Seen {
    /// The outcome, noted before the engine has it.
    ///
    /// # Errors
    /// That of the outcome.
    pub fn ended<E>(mut self, outcome: Result<(), E>) -> Result<(), E> {
        self.how = if outcome.is_ok() { How::Done } else { How::Failed };
        outcome
    }

    /// A call to somebody outside.
    pub fn call_outside(&self) {
        self.ledger.say(Entry::Called { key: self.key.clone() });
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        self.ledger.say(Entry::Ended { run: self.run, how: self.how });
    }
}

impl<'a> FromDelivery<'a> for Seen {
    const PER_EVENT: bool = true;

    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, BoxError> {
        let State(ledger) = State::<Ledger>::from_delivery(delivery)?;
        let item = delivery.item();
        let (source, attempt, key) = (item.envelope.id.as_uuid(), item.attempt, item.key().to_string());
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let handler = item.handler.to_owned();
        ledger.say(Entry::Started { run, handler, source, key: key.clone(), attempt });
        Ok(Self { ledger, run, how: How::Dropped, source, attempt, key })
    }

    fn requires(out: &mut Requirements) {
        State::<Ledger>::requires(out);
    }
}
