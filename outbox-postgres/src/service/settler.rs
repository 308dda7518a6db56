//! Settles what the executions came to: each batch starts as soon as the previous write has returned, and takes all that
//! has come in meanwhile. Idle, a single outcome is written at once; busy, batches grow by themselves.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use outbox_core::transition::{Next, Reason};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::in_hand::InHand;
use crate::backoff::Reconnect;
use crate::error::told;
use crate::hashed::HashSet;
use crate::lane::{Lane, LaneError};
use crate::outbox::Outbox;
use crate::sqlstate::Class;
use crate::step;
use crate::step::settle::{Settled, Settlement};
use crate::step_back::step_back;

/// Most outcomes of one statement.
pub(crate) const BATCH: usize = 500;
/// A batch takes milliseconds, and the locks that it meets are bounded by the server; one that takes this long waits on a
/// connection that is dead without saying so.
const STATEMENT_LIMIT: Duration = Duration::from_secs(3);
/// Longest wait for a row that somebody else has locked. Short, because it is waited for at each halving of the batch, until the
/// locked one stands alone and the others are written.
pub(crate) const LOCK_LIMIT: Duration = Duration::from_millis(50);
/// When an outcome whose row somebody else has locked, or that the database does not take, is tried again.
const LOCKED_DELAY: Duration = Duration::from_secs(1);

pub(crate) struct Settler {
    pub(crate) outbox: Outbox,
    pub(crate) in_hand: Arc<InHand>,
    pub(crate) lane: Lane,
    pub(crate) outcomes: mpsc::Receiver<Settlement>,
    /// Nothing that is still unwritten matters any more: the lease is lost, or the shutdown budget used up.
    pub(crate) give_up: CancellationToken,
}

impl Settler {
    /// Runs until every sender is gone and everything is written, or it is told to give up.
    pub(crate) async fn run(mut self) {
        let mut locked: VecDeque<(Instant, Settlement)> = VecDeque::new();
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let retry_at = locked.front().map(|(due, _)| *due);
            tokio::select! {
                () = self.give_up.cancelled() => break,
                count = self.outcomes.recv_many(&mut batch, BATCH) => {
                    if count == 0 && retry_at.is_none() {
                        break;
                    }
                    if count == 0 {
                        tokio::time::sleep_until(retry_at.unwrap_or_else(Instant::now)).await;
                    }
                    self.gather(&mut batch).await;
                }
                () = sleep_until(retry_at) => {}
            }
            let now = Instant::now();
            while batch.len() < BATCH && locked.front().is_some_and(|(due, _)| *due <= now) {
                batch.extend(locked.pop_front().map(|(_, settlement)| settlement));
            }
            let left = self.write(std::mem::take(&mut batch)).await;
            locked.extend(left.into_iter().map(|settlement| (Instant::now() + LOCKED_DELAY, settlement)));
        }
        self.lane.close().await;
    }

    /// Lets those come along that are about to end: each turn of the runtime's queue runs what is ready, and the batch goes when a
    /// turn has brought nothing. A single outcome waits for one turn, which is nothing where nothing else is ready.
    async fn gather(&mut self, batch: &mut Vec<Settlement>) {
        loop {
            let before = batch.len();
            step_back().await;
            while batch.len() < BATCH
                && let Ok(settlement) = self.outcomes.try_recv()
            {
                batch.push(settlement);
            }
            if batch.len() == before || batch.len() >= BATCH {
                return;
            }
        }
    }

    /// Writes a batch, in parts where the whole is refused; answers those to be tried again later: their rows are locked by
    /// somebody else, or the database takes them in no wording.
    async fn write(&mut self, batch: Vec<Settlement>) -> Vec<Settlement> {
        let mut locked = Vec::new();
        // Each kind has its statement, and so a batch of its own.
        let (plain, others) = batch.into_iter().partition(Settlement::is_plain);
        let mut parts: Vec<Vec<_>> = vec![others, plain];
        let mut reconnect = Reconnect::of(&self.outbox, "settle");
        let mut resent = false;
        while let Some(mut part) = parts.pop() {
            if part.is_empty() || self.give_up.is_cancelled() {
                continue;
            }
            match self.settle(&part).await {
                Ok(settled) => {
                    self.settled(&part, &settled, resent);
                    reconnect.succeeded();
                }
                Err(error) => match error.class() {
                    Class::Connection | Class::Setup => {
                        // Written or not, sending it again is harmless: what was settled has no claim any more.
                        resent = true;
                        reconnect.failed(&error, &self.give_up).await;
                        parts.push(part);
                    }
                    Class::Conflict | Class::Locked | Class::Refused if part.len() > 1 => {
                        let behind = part.split_off(part.len() / 2);
                        parts.extend([behind, part]);
                    }
                    Class::Conflict => parts.push(part),
                    Class::Locked => locked.append(&mut part),
                    Class::Refused => match reworded(&part[0], &error) {
                        Some(other) => parts.push(vec![other]),
                        None => locked.append(&mut part),
                    },
                },
            }
        }
        locked
    }

    async fn settle(&mut self, part: &[Settlement]) -> Result<Settled, LaneError> {
        let statements = self.outbox.statements();
        self.lane
            .run(STATEMENT_LIMIT, async |connection| step::settle::settle(connection, statements, part).await)
            .await
    }

    /// What was not settled was no longer ours: rescued, or cancelled by an operator.
    fn settled(&self, part: &[Settlement], settled: &Settled, resent: bool) {
        self.in_hand.settled(part.iter().map(|one| (one.job_id, one.claim_id)));
        let Settled::These(settled) = settled else { return };
        if resent {
            return;
        }
        let settled: HashSet<_> = settled.iter().collect();
        for stale in part.iter().filter(|one| !settled.contains(&one.job_id) && one.next != Next::Return) {
            tracing::warn!(job = %stale.job_id, refused = "settle", "lease lost: this outcome was refused, because the job is no longer held under its claim");
        }
    }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Another wording of an outcome that the database does not take, though it was sanitised: the job must end or be retried all
/// the same. `None` when every wording was refused, so that it is neither the text nor the outcome.
fn reworded(settlement: &Settlement, refused: &LaneError) -> Option<Settlement> {
    tracing::error!(job = %settlement.job_id, error = told(refused), "this outcome could not be written as it was");
    // What nobody knows stays so: as anything else it could be redriven.
    let last = match settlement.next {
        Next::Failed(Reason::Unknown) => settlement.next,
        _ => Next::Failed(Reason::Quarantined),
    };
    if settlement.next == last && settlement.error.is_none() {
        return None;
    }
    let note = Some(format!("this job's outcome could not be written: {refused}"));
    if settlement.error == note {
        // Refused twice, so it is not the text. Failing it keeps it visible and re-runnable.
        return Some(Settlement { next: last, error: None, ..settlement.clone() });
    }
    Some(Settlement { error: note, ..settlement.clone() })
}
