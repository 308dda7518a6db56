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
use crate::error::told;
use crate::lane::{Lane, LaneError};
use crate::outbox::Outbox;
use crate::parked::ASK_ITS_OWNER;
use crate::sqlstate::Class;
use crate::step;
use crate::step::backfill::Backfilled;
use crate::step::rescue::TakenBack;
use crate::step::settle::Settlement;

/// How long a statement may take. One that takes longer waits on a connection that is dead without saying so, most likely; or the
/// tables have grown, and then the next ones have the longer limit, which is the server's own too.
pub(crate) const STATEMENT_LIMIT: Duration = Duration::from_secs(3);
const LONG_STATEMENT_LIMIT: Duration = Duration::from_secs(10);
/// How long a backfill goes on in one round, how often one that is not ready is tried again, how often one is looked for.
const BACKFILL_SLICE: Duration = Duration::from_millis(200);
const BACKFILL_EVERY: Duration = Duration::from_millis(500);
const BACKFILL_LOOK: Duration = Duration::from_secs(30);
/// How often lost jobs are looked for without a suspicion, and how soon with one.
const RECOVER_EVERY: Duration = Duration::from_mins(1);
const RECOVER_SOON: Duration = Duration::from_secs(2);
/// How often what a rescue had to pass over is looked for.
const BURY_EVERY: Duration = Duration::from_secs(3);
const PARTITION_EVERY: Duration = Duration::from_hours(1);

pub(crate) struct Upkeep {
    pub(crate) outbox: Outbox,
    pub(crate) worker: Uuid,
    pub(crate) in_hand: Arc<InHand>,
    pub(crate) outcomes: mpsc::Sender<Settlement>,
    pub(crate) lane: Lane,
    pub(crate) stop: CancellationToken,
    pub(crate) limit: Duration,
    /// Fires when the tables of the days to come have been seen to for the first time.
    pub(crate) furnished: CancellationToken,
}

/// How long the statements of the next round may take.
fn patience(limit: Duration, round: &Result<(), LaneError>, took: Duration) -> Duration {
    match round {
        Err(LaneError::Deadline(_)) => LONG_STATEMENT_LIMIT,
        Ok(()) if took < STATEMENT_LIMIT / 2 => STATEMENT_LIMIT,
        _ => limit,
    }
}

/// What a chore came to; where it was refused, `round` keeps why. Without the database there is no use in going on to the next.
fn passed<T>(chore: Result<T, LaneError>, round: &mut Result<(), LaneError>) -> Result<Option<T>, LaneError> {
    match chore {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.class() == Class::Connection => Err(error),
        Err(error) => {
            *round = Err(error);
            Ok(None)
        }
    }
}

/// When each chore is due.
struct Due {
    backfill: Instant,
    recover: Instant,
    partition: Instant,
    bury: Instant,
}

impl Upkeep {
    pub(crate) async fn run(mut self) {
        let now = Instant::now();
        let mut due = Due { backfill: now, recover: now + RECOVER_EVERY, partition: now, bury: now + BURY_EVERY };
        let mut reconnect = Reconnect::of(&self.outbox, "upkeep");
        while !self.stop.is_cancelled() {
            let (stop, begun) = (self.stop.clone(), Instant::now());
            let round = tokio::select! {
                () = stop.cancelled() => break,
                round = self.round(&mut due) => round,
            };
            self.limit = patience(self.limit, &round, begun.elapsed());
            match round {
                Ok(()) => reconnect.succeeded(),
                Err(error) => reconnect.failed(&error, &self.stop).await,
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
        // One chore that is refused keeps no other from its turn.
        let mut round = Ok(());
        if due.backfill <= now
            && let Some(pause) = passed(self.backfill().await, &mut round)?
        {
            due.backfill = now + pause;
        }
        if due.bury <= now {
            due.bury = now + BURY_EVERY;
            passed(self.bury().await, &mut round)?;
        }
        if self.in_hand.take_suspicion() {
            // Not at once: the statement whose answer was lost may still be under way on the server.
            due.recover = due.recover.min(now + RECOVER_SOON);
        }
        if due.recover <= now {
            due.recover = now + RECOVER_EVERY;
            passed(self.recover().await, &mut round)?;
        }
        if due.partition <= now {
            due.partition = now + PARTITION_EVERY;
            self.partition().await;
            self.furnished.cancel();
        }
        round
    }

    async fn rescue(&mut self) -> Result<(), LaneError> {
        let (statements, limit) = (self.outbox.statements(), self.outbox.config().crash_limit);
        let rescue = async |connection: &mut _| step::rescue::rescue(connection, statements, limit).await;
        let round = self.lane.run(self.limit, rescue).await?;
        if !round.workers.is_empty() {
            tracing::warn!(workers = ?round.workers, jobs = round.back.jobs.len(), "took over the jobs of workers whose lease ended");
        }
        self.rescued(&round.back);
        for (job, error) in &round.back.refused {
            tracing::error!(%job, error = told(error), "the database does not let go of this job, whose worker died; the others are taken over");
        }
        Ok(())
    }

    async fn bury(&mut self) -> Result<(), LaneError> {
        let (statements, schema, limit) =
            (self.outbox.statements(), self.outbox.schema(), self.outbox.config().crash_limit);
        let bury = async |connection: &mut _| step::rescue::bury(connection, statements, schema, limit).await;
        let back = self.lane.run(self.limit, bury).await?;
        self.rescued(&back);
        Ok(())
    }

    /// A worker's row that somebody deleted takes its lease with it; what it held is nobody's.
    async fn take_back(&mut self, rowless: &[Uuid]) -> Result<(), LaneError> {
        let (statements, limit) = (self.outbox.statements(), self.outbox.config().crash_limit);
        let take_back =
            async |connection: &mut _| step::rescue::take_back(connection, statements, rowless, limit).await;
        let back = self.lane.run(self.limit, take_back).await?;
        tracing::warn!(workers = ?rowless, jobs = back.jobs.len(), "took over the jobs of workers whose row was deleted");
        self.rescued(&back);
        Ok(())
    }

    fn rescued(&self, back: &TakenBack) {
        for job in &back.jobs {
            match job.ended.as_deref() {
                Some("unknown") => tracing::error!(
                    job = %job.job_id, handler = job.job_type,
                    "parked: its worker died while it ran, and whether its effect took place is not known; {ASK_ITS_OWNER}"
                ),
                Some(_) => tracing::error!(
                    job = %job.job_id, handler = job.job_type,
                    "failed: its worker died too often while it ran, reason crashed"
                ),
                None => {}
            }
        }
        if back.jobs.iter().any(|job| job.ended.is_none()) {
            self.outbox.kick();
        }
    }

    /// Answers how soon to go on.
    async fn backfill(&mut self) -> Result<Duration, LaneError> {
        let (statements, schema) = (self.outbox.statements(), self.outbox.schema());
        let barrier = async |connection: &mut _| step::backfill::raise_barrier(connection, statements, schema).await;
        self.lane.run(self.limit, barrier).await?;
        let started = Instant::now();
        let mut not_ready = 0;
        loop {
            let batch =
                async |connection: &mut _| step::backfill::backfill(connection, statements, schema, not_ready).await;
            match self.lane.run(self.limit, batch).await? {
                Backfilled::Nothing if not_ready > 0 => return Ok(BACKFILL_EVERY),
                Backfilled::Nothing => return Ok(BACKFILL_LOOK),
                Backfilled::NotReady => not_ready += 1,
                Backfilled::Batch { handler, jobs } => {
                    if jobs > 0 {
                        tracing::info!(
                            handler,
                            jobs,
                            "backfilled jobs of events that were published while it was activated"
                        );
                        self.outbox.kick();
                    }
                }
            }
            // Rescue does not wait for it.
            if started.elapsed() > BACKFILL_SLICE {
                return Ok(Duration::ZERO);
            }
        }
    }

    /// Gives back what stands as held by this worker and of which it knows nothing, and what nobody holds any more.
    async fn recover(&mut self) -> Result<(), LaneError> {
        let (outbox, worker) = (self.outbox.clone(), self.worker);
        let statements = outbox.statements();
        let (mut after, mut rowless) = (None, Vec::new());
        loop {
            let look = async |connection: &mut _| step::recover::recover(connection, statements, worker, after).await;
            let held = self.lane.run(self.limit, look).await?;
            for (job_id, claim_id) in self.in_hand.strangers(held.jobs) {
                tracing::warn!(job = %job_id, "gave back a job whose claim's answer was lost");
                let back = Settlement { job_id, claim_id, next: Next::Return, error: None, ran: Duration::ZERO };
                let _ = self.outcomes.send(back).await;
            }
            rowless.extend(held.rowless);
            after = held.last;
            if after.is_none() {
                break;
            }
            // A long look does not keep rescue waiting.
            self.rescue().await?;
        }
        if rowless.is_empty() { Ok(()) } else { self.take_back(&rowless).await }
    }

    /// Nothing waits for it: without a partition of its own a row goes into the default one.
    async fn partition(&mut self) {
        let schema = self.outbox.schema();
        let partition = async |connection: &mut _| step::partition::partition(connection, schema).await;
        if let Err(error) = self.lane.run(self.limit, partition).await {
            tracing::info!(error = told(&error), "no partitions were made ahead, trying again in an hour");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rescue that takes longer than the limit would never get through, were the limit to stay.
    #[test]
    fn patience_grows_where_it_was_too_short_and_shrinks_behind_a_quick_round() {
        let late = Err(LaneError::Deadline(STATEMENT_LIMIT));
        let long = patience(STATEMENT_LIMIT, &late, STATEMENT_LIMIT);
        assert_eq!(long, LONG_STATEMENT_LIMIT);
        assert_eq!(patience(long, &Ok(()), Duration::from_secs(5)), LONG_STATEMENT_LIMIT);
        assert_eq!(patience(long, &Ok(()), Duration::from_secs(1)), STATEMENT_LIMIT);
    }
}
