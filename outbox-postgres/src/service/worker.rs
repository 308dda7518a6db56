//! Claims and runs: one loop that owns the jobs in memory and the slots, and waits for whatever comes first.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::Guard;
use outbox_core::transition::Next;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::claimer::{Answer, Claimer};
use super::crew::Crew;
use super::dispatcher::{Dispatcher, Started};
use super::floor::Floor;
use super::in_hand::InHand;
use super::roster::Roster;
use super::slot::{News, Report, Slot, heard};
use super::succession::{Succession, Turn};
use super::underway::Underway;
use crate::health::Listening;
use crate::outbox::Outbox;
use crate::step::claim::{Claimed, Wanted};
use crate::step::run::{Execution, Signals};
use crate::step::run_batch::RunBatch;
use crate::step::settle::Settlement;

/// How often the loop comes round at least.
const PULSE: Duration = Duration::from_secs(1);
/// The poll interval at most of a worker that hears no wakes of others, though it was to listen.
const UNHEARD_POLL: Duration = Duration::from_secs(1);

/// What a worker needs besides its own state.
pub(crate) struct Worker {
    pub(crate) outbox: Outbox,
    pub(crate) id: Uuid,
    pub(crate) roster: Arc<Roster>,
    pub(crate) in_hand: Arc<InHand>,
    pub(crate) floor: Arc<Floor>,
    pub(crate) outcomes: mpsc::Sender<Settlement>,
    /// No more claims; executions are asked to end early.
    pub(crate) stop: CancellationToken,
    /// Executions end now.
    pub(crate) kill: CancellationToken,
}

impl Worker {
    /// Runs until it is stopped and every execution has ended, by itself or by `kill`. Jobs that were not started are given
    /// back.
    pub(crate) async fn run(self) {
        let (claims, requests, mut claimed) = self.start_claimer();
        let (finished, mut slots) = mpsc::unbounded_channel();
        let executions = self.executions(finished);
        let config = self.outbox.config();
        let mut dispatcher = Dispatcher::new(
            Arc::clone(&self.roster),
            self.roster.slots(&self.outbox),
            config.profile.batch,
            config.profile.prefetch,
        );
        let wake = &self.outbox.inner().wake;
        let mut due = true;
        let mut underway = Underway::default();
        let mut pulse = tokio::time::interval(PULSE);
        pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut next_poll = Instant::now();
        loop {
            self.start(&mut dispatcher, &mut underway, &executions);
            if let Some(wanted) = dispatcher.wanted(due) {
                due = false;
                next_poll = Instant::now() + jittered(self.poll_interval());
                // It has room for all that are asked for, and is there until it is told to end.
                let _ = requests.try_send(wanted);
            }
            if !due && let Some(wanted) = dispatcher.wanted_behind() {
                let _ = requests.try_send(wanted);
            }
            wake.rests(dispatcher.asks_nothing() && underway.len() == 0);
            tokio::select! {
                () = self.stop.cancelled() => break,
                Some(news) = slots.recv() => {
                    due |= heard(news, &mut underway, &mut dispatcher);
                    // All that came by now, at once: a turn of the loop costs more than a quick handler.
                    for _ in 0..slots.len() {
                        let Ok(news) = slots.try_recv() else { break };
                        due |= heard(news, &mut underway, &mut dispatcher);
                    }
                }
                answer = claimed.recv() => {
                    let answer = answer.expect("the claimer ends only behind this loop, or by a panic");
                    dispatcher.accept(&answer.asked, answer.jobs);
                }
                () = self.outbox.inner().wake.local.notified() => due = true,
                () = sleep_until(next_poll) => {
                    due = true;
                    next_poll = Instant::now() + jittered(self.poll_interval());
                }
                _ = pulse.tick() => self.report(&mut underway, &dispatcher),
            }
        }
        wake.rests(false);
        if let Some(succession) = &executions.succession {
            succession.end();
        }
        drop(requests);
        let mut back = dispatcher.take_waiting();
        // A claim under way is waited for: its jobs would otherwise stay held until the lease ends.
        while let Some(answer) = claimed.recv().await {
            back.extend(answer.jobs);
        }
        let _ = claims.await;
        self.give_back(back).await;
        executions.tasks.close();
        executions.tasks.wait().await;
    }

    /// How long an idle worker waits for a wake. One that would hear none does not wait long.
    fn poll_interval(&self) -> Duration {
        let config = self.outbox.config();
        let hears = !config.listens() || self.outbox.vitals().listening() == Listening::Hears;
        if hears { config.profile.poll_interval } else { config.profile.poll_interval.min(UNHEARD_POLL) }
    }

    /// Says that the loop comes round, and what does not end.
    fn report(&self, underway: &mut Underway, dispatcher: &Dispatcher) {
        let vitals = self.outbox.vitals();
        vitals.turned(underway.len());
        vitals.overdue_are(underway.overdue(Instant::now(), &self.roster, |handler| dispatcher.most_for(handler)));
    }

    /// The claims run in a task of their own, so that a slow one does not keep finished slots from being used.
    fn start_claimer(&self) -> (tokio::task::JoinHandle<()>, mpsc::Sender<Wanted>, mpsc::Receiver<Answer>) {
        // One under way, and one behind it.
        let (requests, inbox) = mpsc::channel(2);
        let (answers, claimed) = mpsc::channel(2);
        let claims = Claimer::new(&self.outbox, self.id, &self.floor, &self.in_hand, self.stop.clone());
        (tokio::spawn(claims.run(inbox, answers)), requests, claimed)
    }

    fn executions(&self, finished: mpsc::UnboundedSender<News>) -> Executions {
        let (tasks, signals) = (TaskTracker::new(), Signals::new(self.stop.clone(), self.kill.clone()));
        let crew = Crew::new(self.reporter(&signals), finished.clone(), tasks.clone());
        Executions { signals, finished, tasks, crew, succession: Succession::of(&self.outbox) }
    }

    /// Starts all that have a slot.
    fn start(&self, dispatcher: &mut Dispatcher, underway: &mut Underway, executions: &Executions) {
        let (now, mut singly) = (Instant::now(), Vec::new());
        while let Some(started) = dispatcher.start() {
            let number = underway.started(started.handler, now);
            let slot = self.slot(&started, number, now, &executions.finished);
            let handler = self.roster.handler(started.handler);
            let signals = &executions.signals;
            let execution = |job| Execution { outbox: self.outbox.clone(), handler, job, signals: Arc::clone(signals) };
            if handler.settings.batch.is_some() {
                let jobs = std::iter::once(started.job).chain(started.company);
                let batch = RunBatch(jobs.map(execution).collect());
                // Boxed, because spawning moves a future several times, and these are large.
                executions.tasks.spawn(Box::pin(self.reporter(signals).of_batch(slot, batch)));
            } else if let Some(succession) = &executions.succession
                && handler.guard == Guard::Transaction
            {
                let turn = Turn::new(self.reporter(signals), slot, execution(started.job));
                if let Some(turn) = succession.pass(turn) {
                    executions.tasks.spawn(Box::pin(Arc::clone(succession).run(turn)));
                }
            } else {
                singly.push((slot, execution(started.job)));
            }
        }
        if let Some(succession) = &executions.succession {
            succession.queue(dispatcher.queued());
        }
        executions.crew.run(singly);
    }

    fn slot(&self, started: &Started, number: usize, now: Instant, finished: &mpsc::UnboundedSender<News>) -> Slot {
        let meter = self.outbox.inner().meters.of(self.roster.handler(started.handler).name).cloned();
        if let Some(meter) = &meter {
            meter.begins(started.job.late(now.into_std()));
        }
        Slot {
            handler: started.handler,
            risk: started.risk,
            started: now,
            number,
            jobs: u32::try_from(1 + started.company.len()).unwrap_or(u32::MAX),
            meter,
            finished: Some(finished.clone()),
        }
    }

    fn reporter(&self, signals: &Arc<Signals>) -> Report {
        Report {
            outbox: self.outbox.clone(),
            in_hand: Arc::clone(&self.in_hand),
            outcomes: self.outcomes.clone(),
            signals: Arc::clone(signals),
        }
    }

    async fn give_back(&self, jobs: Vec<Claimed>) {
        for job in jobs {
            let settlement = Settlement {
                job_id: job.job_id,
                claim_id: job.claim_id,
                next: Next::Return,
                error: None,
                ran: Duration::ZERO,
            };
            // Refused only when the settler gave up; then rescue takes the job when the lease ends.
            let _ = self.outcomes.send(settlement).await;
        }
    }
}

/// How executions run, and where they tell of their end.
struct Executions {
    signals: Arc<Signals>,
    finished: mpsc::UnboundedSender<News>,
    tasks: TaskTracker,
    crew: Arc<Crew>,
    /// Of those that take the transaction, where they follow each other.
    succession: Option<Arc<Succession>>,
}

/// A fifth more at most, so that many processes do not poll in step.
fn jittered(interval: Duration) -> Duration {
    interval.mul_f64(1.0 + 0.2 * rand::random::<f64>())
}
