//! Beside the way, on one connection: rescue all the time; backfill, a look for lost jobs and new partitions now and then.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::transition::Next;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::in_hand::InHand;
use crate::backoff::Reconnect;
use crate::lane::{Lane, LaneError};
use crate::outbox::Outbox;
use crate::step;
use crate::step::backfill::Backfilled;
use crate::step::settle::Settlement;

const STATEMENT_LIMIT: Duration = Duration::from_secs(10);
/// How often an unfinished backfill is gone on with, and how often one is looked for.
const BACKFILL_EVERY: Duration = Duration::from_millis(500);
const BACKFILL_LOOK: Duration = Duration::from_secs(30);
/// How often lost jobs are looked for without a suspicion, and how soon with one.
const RECOVER_EVERY: Duration = Duration::from_mins(1);
const RECOVER_SOON: Duration = Duration::from_secs(2);
const PARTITION_EVERY: Duration = Duration::from_hours(1);

pub(crate) struct Upkeep {
    pub(crate) outbox: Outbox,
    pub(crate) worker: Uuid,
    pub(crate) in_hand: Arc<InHand>,
    pub(crate) outcomes: mpsc::Sender<Settlement>,
    pub(crate) lane: Lane,
    pub(crate) stop: CancellationToken,
}

/// When each chore is due.
struct Due {
    backfill: Instant,
    recover: Instant,
    partition: Instant,
}

impl Upkeep {
    pub(crate) async fn run(mut self) {
        let now = Instant::now();
        let mut due = Due { backfill: now, recover: now + RECOVER_EVERY, partition: now };
        let mut reconnect = Reconnect::default();
        while !self.stop.is_cancelled() {
            match self.round(&mut due).await {
                Ok(()) => reconnect.succeeded(),
                Err(error) => reconnect.failed("upkeep", &error, &self.stop).await,
            }
            tokio::select! {
                () = self.stop.cancelled() => {}
                () = sleep(self.outbox.config().lease.rescue_every()) => {}
            }
        }
        self.lane.close().await;
    }

    async fn round(&mut self, due: &mut Due) -> Result<(), LaneError> {
        self.rescue().await?;
        let now = Instant::now();
        if due.backfill <= now {
            let unfinished = self.backfill().await?;
            due.backfill = now + if unfinished { BACKFILL_EVERY } else { BACKFILL_LOOK };
        }
        if self.in_hand.take_suspicion() {
            // Not at once: the statement whose answer was lost may still be under way on the server.
            due.recover = due.recover.min(now + RECOVER_SOON);
        }
        if due.recover <= now {
            due.recover = now + RECOVER_EVERY;
            self.recover().await?;
        }
        if due.partition <= now {
            due.partition = now + PARTITION_EVERY;
            self.partition().await;
        }
        Ok(())
    }

    async fn rescue(&mut self) -> Result<(), LaneError> {
        let (statements, limit) = (self.outbox.statements(), self.outbox.config().crash_limit);
        let rescue = async |connection: &mut _| step::rescue::rescue(connection, statements, limit).await;
        let round = self.lane.run(STATEMENT_LIMIT, rescue).await?;
        for worker in &round.workers {
            tracing::warn!(%worker, jobs = round.jobs.len(), "rescued the jobs of a worker whose lease ended");
        }
        for job in round.jobs.iter().filter(|job| job.ended) {
            tracing::error!(job = %job.job_id, handler = job.job_type, "failed: its worker died too often while it ran, reason crashed");
        }
        if round.jobs.iter().any(|job| !job.ended) {
            self.outbox.kick();
        }
        Ok(())
    }

    /// Answers whether an activation is still unfinished.
    async fn backfill(&mut self) -> Result<bool, LaneError> {
        let (statements, schema) = (self.outbox.statements(), self.outbox.schema());
        let barrier = async |connection: &mut _| step::backfill::raise_barrier(connection, statements, schema).await;
        let mut unfinished = !self.lane.run(STATEMENT_LIMIT, barrier).await?.is_empty();
        let mut skip = 0;
        loop {
            let batch = async |connection: &mut _| step::backfill::backfill(connection, statements, schema, skip).await;
            match self.lane.run(STATEMENT_LIMIT, batch).await? {
                Backfilled::Nothing => return Ok(unfinished),
                Backfilled::NotReady => skip += 1,
                Backfilled::Batch { handler, jobs, complete } => {
                    if jobs > 0 {
                        tracing::info!(
                            handler,
                            jobs,
                            "backfilled jobs of events that were published while it was activated"
                        );
                        self.outbox.kick();
                    }
                    skip += i32::from(!complete);
                }
            }
            unfinished = true;
        }
    }

    /// Gives back what stands as held by this worker and of which it knows nothing.
    async fn recover(&mut self) -> Result<(), LaneError> {
        let (statements, worker) = (self.outbox.statements(), self.worker);
        let mut after = None;
        loop {
            let look = async |connection: &mut _| step::recover::recover(connection, statements, worker, after).await;
            let held = self.lane.run(STATEMENT_LIMIT, look).await?;
            for (job_id, claim_id) in self.in_hand.strangers(held.jobs) {
                tracing::warn!(job = %job_id, "gave back a job whose claim's answer was lost");
                let back = Settlement { job_id, claim_id, next: Next::Return, error: None, ran: Duration::ZERO };
                let _ = self.outcomes.send(back).await;
            }
            after = held.last;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Nothing waits for it: without a partition of its own a row goes into the default one.
    async fn partition(&mut self) {
        let schema = self.outbox.schema();
        let partition = async |connection: &mut _| step::partition::partition(connection, schema).await;
        if let Err(error) = self.lane.run(STATEMENT_LIMIT, partition).await {
            tracing::info!(
                error = &error as &dyn std::error::Error,
                "no partitions were made ahead, trying again in an hour"
            );
        }
    }
}
