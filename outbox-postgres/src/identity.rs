//! New ids: ULIDs that grow within a process.

use std::sync::{Mutex, PoisonError};

use outbox_core::{EventId, JobId};
use ulid::{Generator, Ulid};
use uuid::Uuid;

static GENERATOR: Mutex<Generator> = Mutex::new(Generator::new());

fn next() -> Ulid {
    // A panic cannot leave the generator half written, so a poisoned lock is as good as any.
    let mut generator = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
    match generator.generate() {
        Ok(id) => id,
        // 80 random bits ran over within one millisecond: go on in the next one.
        Err(overflow) => overflow.commit_overflow_random(),
    }
}

pub(crate) fn event() -> EventId {
    EventId::from_ulid(next())
}

pub(crate) fn job() -> JobId {
    JobId::from_ulid(next())
}

/// A worker's id or a claim's: never shown as a ULID and never ordered.
pub(crate) fn random() -> Uuid {
    Uuid::new_v4()
}
