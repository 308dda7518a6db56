//! The jobs that this worker knows that it holds, shared by those who claim, settle and look for lost ones.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use outbox_core::JobId;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::hashed::HashSet;

#[derive(Debug, Default)]
pub(crate) struct InHand {
    known: Mutex<Known>,
    settled: Notify,
    /// How many outcomes were written.
    outcomes: AtomicU64,
}

#[derive(Debug, Default)]
struct Known {
    jobs: HashSet<(JobId, Uuid)>,
    /// Claims that are under way, or not read yet: their jobs are nobody's loss. One or two.
    claiming: Vec<Uuid>,
    /// The answer to a claim was lost, so jobs may stand as held that are not in hand.
    suspicious: bool,
}

impl InHand {
    fn known(&self) -> MutexGuard<'_, Known> {
        // Sets and flags cannot be left half written by a panic.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn claiming(&self, claim_id: Uuid) {
        self.known().claiming.push(claim_id);
    }

    pub(crate) fn claimed(&self, claim_id: Uuid, jobs: impl IntoIterator<Item = (JobId, Uuid)>) {
        let mut known = self.known();
        known.claiming.retain(|one| *one != claim_id);
        known.jobs.extend(jobs);
    }

    pub(crate) fn claim_lost(&self, claim_id: Uuid) {
        let mut known = self.known();
        known.claiming.retain(|one| *one != claim_id);
        known.suspicious = true;
    }

    pub(crate) fn settled(&self, jobs: impl IntoIterator<Item = (JobId, Uuid)>) {
        let mut known = self.known();
        let mut outcomes = 0;
        for job in jobs {
            known.jobs.remove(&job);
            outcomes += 1;
        }
        drop(known);
        self.outcomes.fetch_add(outcomes, Ordering::Relaxed);
        self.settled.notify_waiters();
    }

    /// How many outcomes were written, which is about how many rows of live jobs have died by this process.
    pub(crate) fn outcomes(&self) -> u64 {
        self.outcomes.load(Ordering::Relaxed)
    }

    /// Waits until this job's outcome is written, or known to be nobody's.
    pub(crate) async fn until_settled(&self, job: (JobId, Uuid)) {
        loop {
            let mut settled = pin!(self.settled.notified());
            // Before the look, so that what is settled between the two is not missed.
            settled.as_mut().enable();
            if !self.known().jobs.contains(&job) {
                return;
            }
            settled.await;
        }
    }

    /// Whether a look for lost jobs is called for; asked once.
    pub(crate) fn take_suspicion(&self) -> bool {
        std::mem::take(&mut self.known().suspicious)
    }

    /// Those of `held` that nobody here knows of.
    pub(crate) fn strangers(&self, held: Vec<(JobId, Uuid)>) -> Vec<(JobId, Uuid)> {
        let known = self.known();
        held.into_iter()
            .filter(|(job, claim)| !known.jobs.contains(&(*job, *claim)) && !known.claiming.contains(claim))
            .collect()
    }
}
