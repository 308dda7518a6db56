//! The jobs that this process executes at this moment, whichever worker id claimed them.
//!
//! A handler that blocks its thread outlives its worker id: when the lease was lost meanwhile, its job comes back to this very
//! process while it still runs here. It does not begin a second time before the first has ended.

use std::sync::{Mutex, MutexGuard, PoisonError};

use outbox_core::JobId;

use crate::hashed::HashSet;
use crate::outbox::Outbox;

#[derive(Debug, Default)]
pub(crate) struct Executing(Mutex<HashSet<JobId>>);

/// A job that is executed for as long as this lives.
pub(crate) struct UnderWay {
    outbox: Outbox,
    job: JobId,
}

impl Executing {
    /// `None` when an earlier execution has not ended.
    pub(crate) fn begin(outbox: &Outbox, job: JobId) -> Option<UnderWay> {
        let began = outbox.inner().executing.jobs().insert(job);
        began.then(|| UnderWay { outbox: outbox.clone(), job })
    }

    /// Whether an execution of it has not ended.
    pub(crate) fn has(&self, job: JobId) -> bool {
        self.jobs().contains(&job)
    }

    fn jobs(&self) -> MutexGuard<'_, HashSet<JobId>> {
        // A set cannot be left half written by a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.outbox.inner().executing.jobs().remove(&self.job);
    }
}
