//! Takes a lease, renews it and gives it back, apart from the work: on a thread and a runtime of its own, so that work which blocks its
//! thread does not lose it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use metrics::{Counter, SharedString};
use outbox_core::lease::Lease;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::DurableLease;
use super::error::LeaseError;
use crate::backoff::{POLICY, meaning};
use crate::error::told;
use crate::lane::{Lane, LaneError};
use crate::sqlstate::Class;
use crate::step::lease::{LeaseStatements, Take};

/// Longest that one attempt to take it lasts.
const TAKE_LIMIT: Duration = Duration::from_secs(3);
/// Longest that the work's end waits for the lease to be given back; it ends by itself otherwise.
const RELEASE_LIMIT: Duration = Duration::from_secs(2);
/// The least time that a renewal is given.
const LEAST_LIMIT: Duration = Duration::from_millis(200);
/// How often one that waits for a lease asks for it at least and at most.
const ASK_AGAIN: std::ops::RangeInclusive<Duration> = Duration::from_millis(50)..=Duration::from_secs(1);

/// The keeper of one lease that is ours.
#[derive(Debug)]
pub(super) struct Keeper {
    /// Fires when the lease is lost, or about to end without having been renewed.
    pub(super) lost: CancellationToken,
    /// Dropped, the lease is given back.
    give_back: Option<oneshot::Sender<()>>,
    released: oneshot::Receiver<()>,
}

impl Keeper {
    /// Takes the lease; `patient` waits for it. Answers its token.
    pub(super) async fn start(of: &DurableLease, patient: bool) -> Result<(Self, i64), LeaseError> {
        let lost = CancellationToken::new();
        let (give_back, until) = oneshot::channel();
        let (ended, released) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        let renewals = Renewals {
            name: Arc::clone(&of.name),
            holder: Arc::clone(&of.leases.holder),
            lease: of.lease,
            at_least: of.at_least,
            statements: of.leases.statements.clone(),
            lane: of.leases.lane(),
            patient,
            token: 0,
            renewed: Instant::now(),
            lost: lost.clone(),
            meters: Meters::of(&of.name),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(LeaseError::Thread)?;
        let thread = std::thread::Builder::new().name("outbox-lease".into());
        thread
            .spawn(move || {
                runtime.block_on(renewals.run(answer, until));
                let _ = ended.send(());
            })
            .map_err(LeaseError::Thread)?;
        // The thread answers in any case; without an answer it panicked.
        let token = answered.await.unwrap_or_else(|_| Err(LeaseError::Lost(Arc::clone(&of.name))))?;
        Ok((Self { lost, give_back: Some(give_back), released }, token))
    }

    /// Gives it back, and waits until that is done.
    pub(super) async fn release(mut self) {
        drop(self.give_back.take());
        let _ = tokio::time::timeout(RELEASE_LIMIT, &mut self.released).await;
    }
}

struct Renewals {
    name: Arc<str>,
    holder: Arc<str>,
    lease: Lease,
    at_least: Duration,
    statements: LeaseStatements,
    lane: Lane,
    patient: bool,
    token: i64,
    /// When what took or renewed it last was sent: the lease counts from then.
    renewed: Instant,
    lost: CancellationToken,
    meters: Meters,
}

/// How often a lease was taken, renewed, lost and given back. Made where the application is, whose recorder they are for.
struct Meters {
    taken: Counter,
    renewed: Counter,
    lost: Counter,
    given_back: Counter,
}

impl Meters {
    fn of(lease: &Arc<str>) -> Self {
        let counter = |outcome: &'static str| metrics::counter!("outbox_durable_leases_total", "lease" => SharedString::from(Arc::clone(lease)), "outcome" => outcome);
        Self {
            taken: counter("taken"),
            renewed: counter("renewed"),
            lost: counter("lost"),
            given_back: counter("given_back"),
        }
    }
}

impl Renewals {
    async fn run(mut self, mut answer: oneshot::Sender<Result<i64, LeaseError>>, give_back: oneshot::Receiver<()>) {
        // However this ends, by a panic too, nobody acts on without a lease that is renewed.
        let lost = self.lost.clone().drop_guard();
        let taken = tokio::select! {
            taken = self.take() => taken,
            // Nobody waits for it any more. A statement under way may have taken it; then it ends by itself.
            () = answer.closed() => return,
        };
        let ours = taken.is_ok();
        let nobody_waits = answer.send(taken.map(|()| self.token)).is_err();
        if !ours {
            return;
        }
        self.meters.taken.increment(1);
        tracing::info!(lease = %self.name, token = self.token, "lease taken");
        let kept = !nobody_waits
            && tokio::select! {
                // By its sender's drop: the work has ended.
                _ = give_back => true,
                () = self.keep() => false,
            };
        if kept || nobody_waits {
            lost.disarm();
            self.release().await;
        } else {
            // Before anything else is waited for.
            drop(lost);
            self.meters.lost.increment(1);
        }
        self.lane.close().await;
    }

    /// Returns when it is ours.
    async fn take(&mut self) -> Result<(), LeaseError> {
        let mut failures = 0;
        loop {
            self.renewed = Instant::now();
            let (statements, name, holder, length) = (&self.statements, &self.name, &self.holder, self.lease.length());
            let take = async |connection: &mut _| statements.take(connection, name, holder, length).await;
            match self.lane.run(TAKE_LIMIT, take).await {
                Ok(Take::Taken(token)) => {
                    self.token = token;
                    return Ok(());
                }
                Ok(Take::Held { holder, left }) => {
                    failures = 0;
                    if !self.patient {
                        return Err(LeaseError::Taken { name: Arc::clone(&self.name), holder, left });
                    }
                    let pause = left.clamp(*ASK_AGAIN.start(), *ASK_AGAIN.end());
                    tokio::time::sleep(pause.mul_f64(1.0 + 0.2 * rand::random::<f64>())).await;
                }
                // The former owner's last transaction holds it: it is waited for, as the lease itself would be.
                Err(error) if self.patient => {
                    failures += 1;
                    if error.class() != Class::Locked {
                        tracing::warn!(lease = %self.name, error = told(&error), "{}", meaning(error.class()));
                    }
                    tokio::time::sleep(POLICY.delay(failures, rand::random())).await;
                }
                Err(error) if error.class() == Class::Locked => {
                    let (holder, left) = (String::new(), Duration::ZERO);
                    return Err(LeaseError::Taken { name: Arc::clone(&self.name), holder, left });
                }
                Err(error) => {
                    return Err(LeaseError::Unreachable { name: Arc::clone(&self.name), source: error.into() });
                }
            }
        }
    }

    /// Renews it, and returns when it is lost.
    async fn keep(&mut self) {
        let mut pause = self.lease.renew_every();
        let mut failures = 0;
        loop {
            tokio::time::sleep(pause.min(self.left())).await;
            pause = match self.renew().await {
                Ok(true) => {
                    failures = 0;
                    self.lease.renew_every()
                }
                Ok(false) => {
                    tracing::error!(lease = %self.name, token = self.token, "lease lost: it is somebody else's; the work is dropped");
                    return;
                }
                Err(error) => {
                    failures += 1;
                    tracing::warn!(lease = %self.name, error = told(&error), "the lease was not renewed: {}", meaning(error.class()));
                    POLICY.delay(failures, rand::random()).min(self.left())
                }
            };
            if self.left().is_zero() {
                tracing::error!(lease = %self.name, token = self.token, "the lease could not be renewed in time; the work is dropped");
                return;
            }
        }
    }

    /// How long the work may go on without a renewal.
    fn left(&self) -> Duration {
        self.lease.stop_after().saturating_sub(self.renewed.elapsed())
    }

    async fn renew(&mut self) -> Result<bool, LaneError> {
        let sent = Instant::now();
        // Half of what is left, so that one that waits on a dead connection leaves time for another over a new one.
        let limit = (self.left() / 2).max(LEAST_LIMIT);
        let (statements, name, token, length) = (&self.statements, &self.name, self.token, self.lease.length());
        let renew = async |connection: &mut _| statements.renew(connection, name, token, length).await;
        let answer = tokio::time::timeout(limit, self.lane.run(limit, renew)).await;
        let ours = answer.unwrap_or(Err(LaneError::Deadline(limit)))?;
        if ours {
            self.meters.renewed.increment(1);
            self.renewed = sent;
        }
        Ok(ours)
    }

    async fn release(&mut self) {
        let (statements, name, token, at_least) = (&self.statements, &self.name, self.token, self.at_least);
        let release = async |connection: &mut _| statements.release(connection, name, token, at_least).await;
        let done = tokio::time::timeout(RELEASE_LIMIT, self.lane.run(RELEASE_LIMIT, release)).await;
        if matches!(done, Ok(Ok(()))) {
            self.meters.given_back.increment(1);
            tracing::info!(lease = %self.name, token, "lease given back");
        } else {
            tracing::warn!(lease = %self.name, token, "the lease could not be given back; it ends by itself");
        }
    }
}
