//! Renews the lease, apart from the handlers: on a thread and a runtime of its own, so that a handler that blocks its thread
//! does not stop it. When renewal fails for too long, handlers are cancelled before the lease ends.

use std::time::{Duration, Instant};

use outbox_core::lease::Lease;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::backoff::Reconnect;
use crate::lane::{Lane, LaneError};
use crate::outbox::Outbox;
use crate::step;

/// The least time that a renewal is given, and a last try behind the time to stop.
const LEAST_LIMIT: Duration = Duration::from_millis(200);

/// The running keeper of one worker's lease.
#[derive(Debug)]
pub(crate) struct LeaseKeeper {
    /// Fires when the lease is lost, or about to end without having been renewed.
    pub(crate) lost: CancellationToken,
    stop: CancellationToken,
}

impl LeaseKeeper {
    /// Starts renewing. `registered` is when the registration was sent: the lease counts from then.
    pub(crate) fn start(outbox: &Outbox, worker: Uuid, registered: Instant) -> Result<Self, std::io::Error> {
        let keeper = Self { lost: CancellationToken::new(), stop: CancellationToken::new() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let lane = outbox.lane("renew");
        let renewals = Renewals {
            outbox: outbox.clone(),
            worker,
            lease: outbox.config().lease,
            lane,
            renewed: registered,
            lost: keeper.lost.clone(),
        };
        let stop = keeper.stop.clone();
        std::thread::Builder::new().name("outbox-renew".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = renewals.run() => {}
                }
            });
        })?;
        Ok(keeper)
    }
}

impl Drop for LeaseKeeper {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

struct Renewals {
    outbox: Outbox,
    worker: Uuid,
    lease: Lease,
    lane: Lane,
    /// When the last renewal that succeeded was sent.
    renewed: Instant,
    lost: CancellationToken,
}

impl Renewals {
    async fn run(mut self) {
        // However this ends, by a panic too, nobody acts on without a lease that is renewed.
        let _lost = self.lost.clone().drop_guard();
        let mut pause = self.lease.renew_every();
        let mut reconnect = Reconnect::of(&self.outbox, "renew");
        loop {
            let left = self.lease.stop_after().saturating_sub(self.renewed.elapsed());
            tokio::time::sleep(pause.min(left)).await;
            pause = match self.renew().await {
                Ok(true) => {
                    self.outbox.inner().meters.renewed.increment(1);
                    reconnect.succeeded();
                    self.lease.renew_every()
                }
                Ok(false) => {
                    self.outbox.inner().meters.leases_lost.increment(1);
                    tracing::error!(worker = %self.worker, "lease lost: another node has taken over; every execution is cancelled");
                    break;
                }
                Err(error) => {
                    self.outbox.inner().meters.not_renewed.increment(1);
                    let left = self.lease.stop_after().saturating_sub(self.renewed.elapsed());
                    let _ = tokio::time::timeout(left, reconnect.failed(&error, &self.lost)).await;
                    Duration::ZERO
                }
            };
            if self.renewed.elapsed() >= self.lease.stop_after() {
                self.outbox.inner().meters.leases_lost.increment(1);
                tracing::error!(worker = %self.worker, lease = ?self.lease.length(), "the lease could not be renewed in time; every execution is cancelled");
                break;
            }
        }
    }

    /// Whether the lease is still ours.
    async fn renew(&mut self) -> Result<bool, LaneError> {
        let sent = Instant::now();
        let (outbox, worker, length) = (&self.outbox, self.worker, self.lease.length());
        // Half of what is left, so that one that waits on a dead connection leaves time for another over a new one.
        let left = self.lease.stop_after().saturating_sub(self.renewed.elapsed());
        let limit = (left / 2).max(LEAST_LIMIT);
        let renewal =
            async |connection: &mut _| step::renew::renew(connection, outbox.statements(), worker, length).await;
        // Bounded as a whole, the connecting too: the lease does not wait.
        let answer = tokio::time::timeout(limit, self.lane.run(limit, renewal)).await;
        let ours = answer.unwrap_or(Err(LaneError::Deadline(limit)))?;
        if ours {
            self.renewed = sent;
            self.outbox.vitals().renewed(sent);
        }
        Ok(ours)
    }
}
