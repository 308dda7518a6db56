//! run: decode, extract, call, within the timeout; a panic is caught here. No SQL: the transaction of a handler that takes one is in
//! [`run_tx`](super::run_tx). Many jobs in one call: see [`run_batch`](super::run_batch).

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use outbox_core::transition::{Next, Reason, broken_off, settle};
use outbox_core::{Delivery, Guard, Item, Outcome, SubscriberDescriptor, TypeMap, Verdict, error_chain};
use sqlx::PgConnection;
use tokio_util::sync::CancellationToken;
use tracing::{Span, field};

use super::claim::Claimed;
use super::settle::Settlement;
use crate::cancellation::Cancellation;
use crate::error::told;
use crate::executing::Executing;
use crate::outbox::Outbox;
use crate::parked::ASK_ITS_OWNER;
use crate::scope::Scope;
use crate::unwind::catch_panic;

/// When a job that got no connection from the application's pool is due again.
pub(super) const NO_CONNECTION_DELAY: Duration = Duration::from_secs(1);
/// When a job is due again whose earlier execution has not ended.
const STILL_RUNS_DELAY: Duration = Duration::from_secs(1);

/// The signals that can end executions. Shared by all of a worker: each clone of a token takes a lock that all clones share.
#[derive(Debug)]
pub(crate) struct Signals {
    /// Asks a handler to end early.
    pub(crate) cancel: CancellationToken,
    /// Ends it.
    pub(crate) kill: CancellationToken,
    /// What handlers can ask for.
    pub(super) lent: TypeMap,
    /// Whether a retry comes up to a fifth later than its backoff says, so that many do not come at once.
    jitter: bool,
}

impl Signals {
    pub(crate) fn new(cancel: CancellationToken, kill: CancellationToken) -> Arc<Self> {
        let mut lent = TypeMap::default();
        lent.insert(Cancellation(cancel.clone()));
        Arc::new(Self { cancel, kill, lent, jitter: true })
    }

    /// Signals that nobody but the loss of the lease gives, and retries that come exactly when their backoff says.
    pub(crate) fn exact(kill: CancellationToken) -> Arc<Self> {
        let mut lent = TypeMap::default();
        lent.insert(Cancellation(CancellationToken::new()));
        Arc::new(Self { cancel: CancellationToken::new(), kill, lent, jitter: false })
    }
}

/// One execution and the signals that can end it.
#[derive(Debug)]
pub(crate) struct Execution {
    pub(crate) outbox: Outbox,
    pub(crate) handler: &'static SubscriberDescriptor,
    pub(crate) job: Claimed,
    pub(crate) signals: Arc<Signals>,
}

/// What an execution came to.
#[derive(Debug)]
pub(crate) enum Ran {
    /// Effect and completion are committed; `published` tells whether there is somebody to wake.
    Committed { published: bool },
    /// To be settled.
    Unsettled(Settlement),
    /// The job is no longer ours: nothing to settle, its effect was rolled back.
    LeaseLost,
}

/// How the call of a handler ended.
pub(super) enum Ended {
    Returned(Outcome),
    Panicked(String),
    TimedOut,
    Killed,
}

impl Ended {
    fn of(call: Result<Outcome, String>) -> Self {
        match call {
            Ok(outcome) => Self::Returned(outcome),
            Err(panic) => Self::Panicked(panic),
        }
    }
}

impl Execution {
    /// What is logged and traced while it runs, by whomever, stands in this span: which job of which message, at which try, and what ties it to
    /// the request that set it in motion. A retry and another process have the same, because it is read from the row.
    pub(crate) fn span(&self) -> Span {
        let (job, message) = (&self.job, &self.job.envelope);
        let span = tracing::info_span!(
            "execution",
            handler = self.handler.name,
            message = message.name,
            id = %message.id,
            job = %job.job_id,
            attempt = job.counts.attempts,
            correlation = field::Empty,
            causation = field::Empty,
            traceparent = field::Empty,
        );
        if !span.is_disabled() {
            span.record("correlation", message.correlation());
            if let Some(causation) = &message.metadata.causation {
                span.record("causation", field::display(causation));
            }
            if let Some(traceparent) = &message.metadata.traceparent {
                span.record("traceparent", traceparent);
            }
        }
        span
    }

    /// Runs it. Never panics, whatever the handler does.
    pub(crate) async fn run(&self) -> Ran {
        let started = Instant::now();
        let Some(_under_way) = Executing::begin(&self.outbox, self.job.job_id) else { return self.put_off(started) };
        if let Some(ran) = self.without_a_call(started) {
            return ran;
        }
        if self.handler.guard == Guard::Transaction {
            // Boxed, because the futures of a transaction are large, and every execution's task would be as large, and be moved so.
            return Box::pin(self.run_in_transaction(started)).await;
        }
        let scope = self.scope();
        let ended = self.call(&scope, None).await;
        self.ended(&ended, started)
    }

    /// What it comes to when there is nothing to call its handler for.
    pub(crate) fn without_a_call(&self, started: Instant) -> Option<Ran> {
        if self.job.done_before {
            return Some(self.unsettled(Next::Succeeded(Some(Reason::Duplicate)), None, started));
        }
        // Never begun again blindly, whoever took it back from a worker that died: a process of an earlier release may have.
        if self.handler.settings.parks && self.job.counts.crashes > 0 {
            let error = "its worker died while it ran: whether its effect took place is not known";
            tracing::error!(job = %self.job.job_id, handler = self.handler.name, error, "parked: {ASK_ITS_OWNER}");
            return Some(self.unsettled(Next::Failed(Reason::Unknown), Some(error.to_owned()), started));
        }
        if self.job.is_expired() {
            return Some(self.expired(started));
        }
        if self.job.bereft {
            let error = "its event is no longer stored, so there is nothing to run it with";
            tracing::error!(job = %self.job.job_id, handler = self.handler.name, error, "quarantined");
            return Some(self.unsettled(Next::Failed(Reason::Quarantined), Some(error.to_owned()), started));
        }
        None
    }

    pub(super) fn expired(&self, started: Instant) -> Ran {
        let error = "it expired before its turn came, and was not begun";
        tracing::warn!(job = %self.job.job_id, handler = self.handler.name, error, "expired");
        self.unsettled(Next::Failed(Reason::Expired), Some(error.to_owned()), started)
    }

    /// Its message as a handler gets it.
    pub(super) fn item(&self) -> Item {
        Item {
            envelope: Arc::clone(&self.job.envelope),
            attempt: self.job.counts.attempts,
            effect: self.job.effect_id(),
            handler: self.handler.original_name(),
        }
    }

    pub(super) fn scope(&self) -> Scope {
        let (outbox, cause) = (self.outbox.clone(), Arc::clone(&self.job.envelope));
        match self.handler.guard {
            Guard::Transaction => Scope::of_transaction(outbox, cause),
            _ => Scope::of_handler(outbox, cause),
        }
    }

    pub(super) async fn call(&self, scope: &Scope, connection: Option<&mut PgConnection>) -> Ended {
        let items = [self.item()];
        let delivery = Delivery::new(&items, self.outbox.state(), &self.signals.lent);
        let delivery = match connection {
            Some(connection) => delivery.with_connection::<PgConnection>(connection),
            None => delivery,
        };
        self.end_of(scope, delivery).await
    }

    /// Calls the handler, and answers how that ended.
    pub(super) async fn end_of(&self, scope: &Scope, delivery: Delivery<'_>) -> Ended {
        let begun = tokio::time::Instant::now();
        let mut call = pin!(scope.run(catch_panic(move || (self.handler.call)(delivery))));
        // Most handlers that wait for nothing are done at their first poll, and need neither a timer nor a place among those who hear
        // of the worker's end: this begins with its first poll.
        let mut cut = pin!(self.cut(begun + self.handler.settings.timeout));
        // In one task with the handler, and the handler dropped before its end is told: one that blocks its thread holds its slot
        // and its claim until it lets go, so that no retry begins beside it. What has ended by then has ended, however late.
        poll_fn(|context| match call.as_mut().poll(context) {
            Poll::Ready(ended) => Poll::Ready(Ended::of(ended)),
            Poll::Pending => cut.as_mut().poll(context),
        })
        .await
    }

    /// When the handler has to end, and why. A handler that is never at rest uses up all that the runtime gives a task in one turn, so
    /// what cuts it short does not ask for any of it.
    fn cut(&self, at: tokio::time::Instant) -> impl Future<Output = Ended> {
        tokio::task::coop::unconstrained(async move {
            tokio::select! {
                biased;
                () = self.signals.kill.cancelled() => Ended::Killed,
                () = tokio::time::sleep_until(at) => Ended::TimedOut,
            }
        })
    }

    pub(super) fn ended(&self, ended: &Ended, started: Instant) -> Ran {
        match ended {
            Ended::Returned(outcome) => self.returned(outcome, started),
            Ended::Panicked(message) => self.broken_off(&format!("the handler panicked: {message}"), started),
            Ended::TimedOut => {
                self.broken_off(&format!("the handler timed out after {:?}", self.handler.settings.timeout), started)
            }
            Ended::Killed if self.handler.settings.parks => {
                self.broken_off("its worker ended while the handler ran", started)
            }
            Ended::Killed => self.unsettled(Next::Return, None, started),
        }
    }

    /// The handler was ended before it could say what became of its effect.
    fn broken_off(&self, error: &str, started: Instant) -> Ran {
        let verdict = broken_off(self.handler.settings.parks);
        self.returned(&Outcome::Failed { verdict, error: error_chain::sanitise(error) }, started)
    }

    pub(super) fn returned(&self, outcome: &Outcome, started: Instant) -> Ran {
        let Outcome::Failed { error, verdict } = outcome else {
            return self.unsettled(self.next(outcome), None, started);
        };
        // An error behind the request to end early is no failure of the job. One that leaves the effect open is.
        if self.signals.cancel.is_cancelled() && *verdict != Verdict::Unknown {
            return self.unsettled(Next::Return, None, started);
        }
        let next = self.next(outcome);
        let counts = self.job.counts;
        let (job, event, handler) = (self.job.job_id, self.job.envelope.id, self.handler.name);
        let (attempt, max_attempts) = (counts.attempts, counts.max_attempts);
        match next {
            Next::Failed(Reason::Unknown) => {
                tracing::error!(%job, %event, handler, attempt, max_attempts, error, "an execution has no known outcome; the job is {next}: {ASK_ITS_OWNER}");
            }
            Next::Failed(_) => {
                tracing::error!(%job, %event, handler, attempt, max_attempts, error, "an execution failed; the job is {next}");
            }
            // Nothing failed: its handler asks for it later. Of a batch, one line tells of all.
            Next::Snooze(_) if self.handler.settings.batch.is_some() => {
                tracing::debug!(%job, %event, handler, attempt, max_attempts, error, "the job is {next}, and charged nothing");
            }
            Next::Snooze(_) => {
                tracing::info!(%job, %event, handler, attempt, max_attempts, error, "the job is {next}, and charged nothing");
            }
            _ => {
                tracing::warn!(%job, %event, handler, attempt, max_attempts, error, "an execution failed; the job is {next}");
            }
        }
        self.unsettled(next, Some(error.clone()), started)
    }

    pub(super) fn failed(&self, error: &str, started: Instant) -> Ran {
        self.returned(&Outcome::Failed { verdict: Verdict::Retry, error: error_chain::sanitise(error) }, started)
    }

    fn next(&self, outcome: &Outcome) -> Next {
        let repeats = matches!(outcome, Outcome::Failed { .. });
        let jitter = if repeats && self.signals.jitter { rand::random() } else { 0.0 };
        settle(self.job.counts, outcome, self.handler.settings.backoff, jitter)
    }

    /// The handler never ran, so nothing is charged.
    pub(crate) fn no_connection(&self, error: &sqlx::Error, started: Instant) -> Ran {
        tracing::warn!(
            job = %self.job.job_id, handler = self.handler.name, error = told(error),
            "no transaction for the handler from the application's pool; the job is given back, uncharged"
        );
        self.unsettled(Next::Snooze(NO_CONNECTION_DELAY), None, started)
    }

    /// Not run, because an earlier execution of the same job has not ended in this process; nothing is charged.
    pub(crate) fn put_off(&self, started: Instant) -> Ran {
        tracing::warn!(
            job = %self.job.job_id, handler = self.handler.name,
            "an earlier execution of this job blocks its thread and has not ended, although its lease was lost; the job is put off"
        );
        self.unsettled(Next::Snooze(STILL_RUNS_DELAY), None, started)
    }

    pub(super) fn transaction_was_ended(&self, started: Instant) -> Ran {
        let error = "the handler ended the transaction that it was given (a COMMIT or ROLLBACK in raw SQL), so its effect and its \
                     completion cannot commit together; leave the end of the transaction to outbox";
        tracing::error!(job = %self.job.job_id, handler = self.handler.name, error, "quarantined");
        self.unsettled(Next::Failed(Reason::Quarantined), Some(error.to_owned()), started)
    }

    pub(super) fn unsettled(&self, next: Next, error: Option<String>, started: Instant) -> Ran {
        Ran::Unsettled(Settlement {
            job_id: self.job.job_id,
            claim_id: self.job.claim_id,
            next,
            error,
            ran: started.elapsed(),
        })
    }
}
