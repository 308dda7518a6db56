//! The life of a process under one worker id: from registration to an orderly end, or to the loss of its lease.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::cleaner::Cleaner;
use super::floor::Floor;
use super::in_hand::InHand;
use super::lease_keeper::LeaseKeeper;
use super::listener::{self, Ears};
use super::lookout::Lookout;
use super::roster::Roster;
use super::scheduler::Scheduler;
use super::settler::{self, BATCH, Settler};
use super::upkeep::{self, Upkeep};
use super::worker::Worker;
use crate::backoff::Reconnect;
use crate::error::RunError;
use crate::health::Stage;
use crate::outbox::Outbox;
use crate::{identity, lane, step};

const STATEMENT_LIMIT: Duration = Duration::from_secs(3);
/// How long, past the shutdown budget, the last outcomes have to be written.
const LAST_WRITE: Duration = Duration::from_millis(350);

/// Runs under a new worker id until `stop` fires or the lease is lost.
pub(crate) async fn run(outbox: &Outbox, stop: &CancellationToken) -> Result<(), RunError> {
    let roster = Arc::new(Roster::of(outbox));
    outbox.vitals().enter(Stage::Starting);
    let Some((worker, registered)) = register(outbox, &roster, stop).await else { return Ok(()) };
    outbox.vitals().renewed(registered);
    let keeper = LeaseKeeper::start(outbox, worker, registered).map_err(RunError::Thread)?;
    tracing::info!(%worker, handlers = roster.len(), schema = outbox.schema().as_str(), "worker started");
    let epoch = Epoch::start(outbox, worker, roster);
    if !stop.is_cancelled() {
        outbox.vitals().enter(Stage::Running);
        // From here on it has to come round: one whose threads are blocked from the start never would.
        outbox.vitals().turned(0);
    }
    tokio::select! {
        () = stop.cancelled() => epoch.shut_down(outbox, &keeper).await,
        () = keeper.lost.cancelled() => epoch.abandon().await,
        () = epoch.broken.cancelled() => {
            tracing::error!(%worker, "a service of this worker panicked; it begins again under a new id");
            epoch.abandon().await;
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
            }
        }
    }
    drop(keeper);
    if stop.is_cancelled() {
        unregister(outbox, worker).await;
        tracing::info!(%worker, "worker stopped");
    }
    Ok(())
}

/// The running services of one epoch.
struct Epoch {
    /// Ends claiming, listening and upkeep.
    stop: CancellationToken,
    /// Ends the executions.
    kill: CancellationToken,
    /// Ends settling.
    give_up: CancellationToken,
    /// Fires when a service panicked.
    broken: CancellationToken,
    /// The worker, then what is beside it, then the settler, which ends when the others have.
    services: Vec<JoinHandle<()>>,
}

/// A `run` that is dropped in the middle leaves no service behind.
impl Drop for Epoch {
    fn drop(&mut self) {
        self.stop.cancel();
        self.kill.cancel();
        let give_up = self.give_up.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                tokio::time::sleep(LAST_WRITE).await;
                give_up.cancel();
            });
        }
    }
}

impl Epoch {
    fn start(outbox: &Outbox, id: Uuid, roster: Arc<Roster>) -> Self {
        let (stop, kill, give_up) = (CancellationToken::new(), CancellationToken::new(), CancellationToken::new());
        let (outcomes, settled) = mpsc::channel(2 * BATCH);
        let in_hand = Arc::new(InHand::default());
        let settler = Settler {
            outbox: outbox.clone(),
            in_hand: Arc::clone(&in_hand),
            lane: outbox.lane("settle").with_lock_limit(settler::LOCK_LIMIT).with_settings(lane::BY_INDEX),
            outcomes: settled,
            give_up: give_up.clone(),
        };
        let furnished = CancellationToken::new();
        let upkeep = Upkeep {
            outbox: outbox.clone(),
            worker: id,
            in_hand: Arc::clone(&in_hand),
            outcomes: outcomes.clone(),
            lane: outbox.lane("upkeep"),
            stop: stop.clone(),
            limit: upkeep::STATEMENT_LIMIT,
            furnished: furnished.clone(),
        };
        let cleaner = Cleaner::new(outbox, Arc::clone(&in_hand), stop.clone(), furnished);
        let floor = Arc::new(Floor::default());
        let lookout = Lookout {
            outbox: outbox.clone(),
            roster: Arc::clone(&roster),
            floor: Arc::clone(&floor),
            stop: stop.clone(),
        };
        let worker = Worker {
            outbox: outbox.clone(),
            id,
            roster,
            in_hand,
            floor,
            outcomes,
            stop: stop.clone(),
            kill: kill.clone(),
        };
        let broken = CancellationToken::new();
        let mut services = vec![
            watched(&broken, worker.run()),
            watched(&broken, upkeep.run()),
            watched(&broken, cleaner.run()),
            watched(&broken, lookout.run()),
        ];
        if let Some(scheduler) = Scheduler::new(outbox, stop.clone()) {
            services.push(watched(&broken, scheduler.run()));
        }
        if outbox.config().listens() {
            services.push(watched(&broken, listener::run(outbox.clone(), Ears::Worker, stop.clone())));
        }
        services.push(watched(&broken, settler.run()));
        Self { stop, kill, give_up, broken, services }
    }

    /// Orderly: no more claims, executions have the budget to end, what is left goes back at once. Ends in any case, shortly
    /// behind the budget: a handler that blocks its thread keeps its job until the lease ends.
    async fn shut_down(mut self, outbox: &Outbox, keeper: &LeaseKeeper) {
        self.stop.cancel();
        let (kill, give_up) = (self.kill.clone(), self.give_up.clone());
        let hurry = async {
            tokio::select! {
                () = tokio::time::sleep(outbox.config().shutdown_budget) => {}
                () = keeper.lost.cancelled() => {}
            }
            kill.cancel();
            tokio::time::sleep(LAST_WRITE).await;
            give_up.cancel();
            tokio::time::sleep(LAST_WRITE / 2).await;
        };
        tokio::select! {
            () = self.ended() => {}
            () = hurry => tracing::warn!("the shutdown budget is used up; what has not ended is left to the end of the lease"),
        }
    }

    /// The lease is lost: everything ends now, and nothing is written, because others own the jobs.
    async fn abandon(mut self) {
        self.stop.cancel();
        self.kill.cancel();
        self.give_up.cancel();
        // A handler that blocks its thread is not waited for: it would hold up the next epoch, and a shutdown.
        if tokio::time::timeout(LAST_WRITE, self.ended()).await.is_err() {
            tracing::warn!("a handler blocks its thread and could not be cancelled; going on without it");
        }
    }

    async fn ended(&mut self) {
        for service in &mut self.services {
            // A task that panicked has ended too; its panic was reported by the runtime.
            let _ = service.await;
        }
    }
}

/// A service whose panic ends the epoch: nobody else would notice that it is gone.
fn watched(broken: &CancellationToken, service: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    let panicked = broken.clone().drop_guard();
    tokio::spawn(async move {
        service.await;
        panicked.disarm();
    })
}

/// Registers, trying for as long as it takes. Answers when the registration was sent: the lease counts from then.
async fn register(outbox: &Outbox, roster: &Roster, stop: &CancellationToken) -> Option<(Uuid, Instant)> {
    let mut lane = outbox.lane("register");
    let mut reconnect = Reconnect::of(outbox, "register");
    let config = outbox.config();
    let (statements, name, ranges, lease) =
        (outbox.statements(), &config.name, roster.announced(), config.lease.length());
    while !stop.is_cancelled() {
        // A fresh id each time: whether the last one was written is not known.
        let (worker, sent) = (identity::random(), Instant::now());
        let register = async |connection: &mut _| {
            step::register::register(connection, statements, worker, name, &ranges, lease).await
        };
        match lane.run(STATEMENT_LIMIT, register).await {
            Ok(()) => {
                lane.close().await;
                return Some((worker, sent));
            }
            Err(error) => reconnect.failed(&error, stop).await,
        }
    }
    None
}

async fn unregister(outbox: &Outbox, worker: Uuid) {
    let mut lane = outbox.lane("register");
    let statements = outbox.statements();
    let unregister = async |connection: &mut _| step::register::unregister(connection, statements, worker).await;
    let bounded = tokio::time::timeout(LAST_WRITE, lane.run(LAST_WRITE, unregister)).await;
    if !matches!(bounded, Ok(Ok(()))) {
        tracing::warn!(%worker, "the worker's row could not be removed; its lease ends by itself");
    }
    lane.close().await;
}
