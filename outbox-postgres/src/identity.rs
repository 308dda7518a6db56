//! New ids: ULIDs that grow within a process.

use std::sync::{Mutex, MutexGuard, PoisonError};

use outbox_core::{EventId, JobId, QuarantineId};
use ulid::{Generator, Ulid};
use uuid::Uuid;

static GENERATOR: Mutex<Generator> = Mutex::new(Generator::new());

fn generator() -> MutexGuard<'static, Generator> {
    // A panic cannot leave the generator half written, so a poisoned lock is as good as any.
    GENERATOR.lock().unwrap_or_else(PoisonError::into_inner)
}

fn next(generator: &mut Generator) -> Ulid {
    match generator.generate() {
        Ok(id) => id,
        // 80 random bits ran over within one millisecond: go on in the next one.
        Err(overflow) => overflow.commit_overflow_random(),
    }
}

pub(crate) fn event() -> EventId {
    EventId::from_ulid(next(&mut generator()))
}

pub(crate) fn job() -> JobId {
    JobId::from_ulid(next(&mut generator()))
}

pub(crate) fn quarantine() -> QuarantineId {
    QuarantineId::from_ulid(next(&mut generator()))
}

/// Ids for so many jobs, one behind the other.
pub(crate) fn jobs(count: usize) -> Vec<Uuid> {
    let mut generator = generator();
    (0..count).map(|_| Uuid::from(next(&mut generator))).collect()
}

/// A worker's id or a claim's: never shown as a ULID and never ordered.
pub(crate) fn random() -> Uuid {
    Uuid::new_v4()
}
