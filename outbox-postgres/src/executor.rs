//! Work that a request or a handler starts and does not wait for: bounded, cancelled, drained, and heard of when it fails.

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use outbox_core::{BoxError, Delivery, FromDelivery, MissingState, Requirement, Requirements};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, oneshot};
use tokio::task::coop::unconstrained;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cancellation::Cancellation;
use crate::error::told;
use crate::scope;
use crate::unwind::catch_panic;

/// Longest that one piece of work may take unless said otherwise.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);
/// How long what was cancelled at the end of the budget is waited for: until its task is polled once more.
const LAST_POLL: Duration = Duration::from_millis(500);

/// Runs work that goes on behind whoever starts it, in the place of a detached task: so many at once, each for so long at most, all of
/// them waited for and then cancelled when the process shuts down.
///
/// What it runs is lost with the process. What must happen is a job: write it with [`enqueue`](crate::Enqueue), in a transaction.
///
/// A clone is the same executor. As a parameter of a handler it is the one that was given by `Outbox::builder(..).state(executor)`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), outbox_postgres::ExecutorError> {
/// use outbox_postgres::Executor;
///
/// let executor = Executor::new(8);
/// let thumbnail = executor.start("thumbnail", async |_stop| Ok::<_, std::io::Error>(())).await?;
/// thumbnail.ended().await?; // or drop it: the work goes on, and its failure is logged and counted
/// executor.shut_down(std::time::Duration::from_secs(10)).await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Executor {
    inner: Arc<Inner>,
    timeout: Duration,
}

struct Inner {
    most: u32,
    slots: Arc<Semaphore>,
    running: TaskTracker,
    /// Asks work to end.
    stop: CancellationToken,
    /// Ends it.
    kill: CancellationToken,
    failures: AtomicU64,
}

/// Work that was not started, or came to no good end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecutorError {
    /// As many as may run at once do.
    #[error("`{name}` was not started: {most} pieces of work are running, which is as many as may")]
    Full {
        /// The work's name.
        name: &'static str,
        /// How many may run at once.
        most: u32,
    },
    /// The process shuts down.
    #[error("`{0}` was not started: the executor has shut down")]
    ShutDown(&'static str),
    /// It returned an error.
    #[error("`{name}` failed: {error}")]
    Failed {
        /// The work's name.
        name: &'static str,
        /// The error's source chain.
        error: String,
    },
    /// It panicked.
    #[error("`{name}` panicked: {message}")]
    Panicked {
        /// The work's name.
        name: &'static str,
        /// What the panic said.
        message: String,
    },
    /// It took too long, and was dropped.
    #[error("`{name}` was dropped, because it took longer than {limit:?}; what it had begun elsewhere may go on")]
    TimedOut {
        /// The work's name.
        name: &'static str,
        /// How long it may take.
        limit: Duration,
    },
    /// The process shut down before it ended, and it was dropped.
    #[error("`{0}` was dropped, because the process shuts down")]
    Cancelled(&'static str),
}

/// Work that was started. Dropped, the work goes on.
#[derive(Debug)]
pub struct Started(oneshot::Receiver<Result<(), ExecutorError>>, &'static str);

impl Started {
    /// Waits for its end.
    ///
    /// # Errors
    /// What it came to, if that was no good end.
    pub async fn ended(self) -> Result<(), ExecutorError> {
        self.0.await.unwrap_or(Err(ExecutorError::Cancelled(self.1)))
    }
}

/// How a shutdown ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShutDown {
    /// How many pieces of work had not ended within the budget, and were dropped.
    pub dropped: usize,
}

impl Executor {
    /// One that runs `most` pieces of work at once, at least one.
    #[must_use]
    pub fn new(most: u32) -> Self {
        let most = most.max(1);
        let slots = usize::try_from(most).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        let inner = Inner {
            most,
            slots: Arc::new(Semaphore::new(slots)),
            running: TaskTracker::new(),
            stop: CancellationToken::new(),
            kill: CancellationToken::new(),
            failures: AtomicU64::new(0),
        };
        Self { inner: Arc::new(inner), timeout: DEFAULT_TIMEOUT }
    }

    /// The same executor, whose work, as far as it is started through this handle, may take so long; a minute unless said otherwise.
    #[must_use]
    pub fn timeout(self, limit: Duration) -> Self {
        Self { timeout: limit, ..self }
    }

    /// Starts work, when it may: waits for a free slot, so that who starts more than can be done is slowed down. The work is lent the
    /// word that asks it to end early. What it publishes carries the [context](crate::context) of here.
    ///
    /// # Errors
    /// [`ExecutorError::ShutDown`].
    ///
    /// # Cancel safety
    /// Dropped while it waits, nothing was started.
    pub async fn start<F, E>(
        &self,
        name: &'static str,
        work: impl FnOnce(Cancellation) -> F + Send + 'static,
    ) -> Result<Started, ExecutorError>
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let slot = Arc::clone(&self.inner.slots).acquire_owned().await.map_err(|_| ExecutorError::ShutDown(name))?;
        self.spawn(name, slot, work)
    }

    /// Starts work now, or not at all.
    ///
    /// # Errors
    /// [`ExecutorError::Full`], [`ExecutorError::ShutDown`].
    pub fn try_start<F, E>(
        &self,
        name: &'static str,
        work: impl FnOnce(Cancellation) -> F + Send + 'static,
    ) -> Result<Started, ExecutorError>
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let slot = Arc::clone(&self.inner.slots).try_acquire_owned().map_err(|error| match error {
            TryAcquireError::NoPermits => ExecutorError::Full { name, most: self.inner.most },
            TryAcquireError::Closed => ExecutorError::ShutDown(name),
        })?;
        self.spawn(name, slot, work)
    }

    fn spawn<F, E>(
        &self,
        name: &'static str,
        slot: OwnedSemaphorePermit,
        work: impl FnOnce(Cancellation) -> F + Send + 'static,
    ) -> Result<Started, ExecutorError>
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        if self.inner.stop.is_cancelled() {
            return Err(ExecutorError::ShutDown(name));
        }
        let (inner, timeout, carried) = (Arc::clone(&self.inner), self.timeout, scope::carried());
        let (told, ended) = oneshot::channel();
        let span = tracing::Span::current();
        self.inner.running.spawn(tracing::Instrument::instrument(
            async move {
                let _slot = slot;
                let stop = Cancellation(inner.stop.child_token());
                let work = scope::carry(carried, catch_panic(move || Box::pin(work(stop))));
                let result = tokio::select! {
                    biased;
                    ended = work => outcome(name, ended),
                    () = inner.kill.cancelled() => Err(ExecutorError::Cancelled(name)),
                    // Work that is never at rest leaves nothing of what the runtime gives a task in one turn.
                    () = unconstrained(tokio::time::sleep(timeout)) => Err(ExecutorError::TimedOut { name, limit: timeout }),
                };
                inner.note(&result);
                // Who started it may not care.
                let _ = told.send(result);
            },
            span,
        ));
        Ok(Started(ended, name))
    }

    /// How many pieces of work are running.
    #[must_use]
    pub fn running(&self) -> usize {
        self.inner.running.len()
    }

    /// How many came to no good end since this executor was made.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.inner.failures.load(Ordering::Relaxed)
    }

    /// Starts nothing more, asks what runs to end early, waits for it as long as `budget`, and drops the rest. Work that blocks its
    /// thread can be neither dropped nor waited for, and is left behind.
    ///
    /// # Cancel safety
    /// Dropped in the middle, nothing more is started, and what runs goes on.
    pub async fn shut_down(&self, budget: Duration) -> ShutDown {
        let inner = &self.inner;
        inner.stop.cancel();
        inner.slots.close();
        inner.running.close();
        if tokio::time::timeout(budget, inner.running.wait()).await.is_ok() {
            return ShutDown { dropped: 0 };
        }
        let dropped = inner.running.len();
        inner.kill.cancel();
        let _ = tokio::time::timeout(LAST_POLL, inner.running.wait()).await;
        tracing::warn!(dropped, ?budget, "work was dropped, because it had not ended within the shutdown budget");
        ShutDown { dropped }
    }
}

impl Inner {
    fn note(&self, result: &Result<(), ExecutorError>) {
        if let Err(error) = result {
            self.failures.fetch_add(1, Ordering::Relaxed);
            tracing::error!(error = error.to_string(), "work that nobody waited for came to no good end");
        }
    }
}

fn outcome<E: Into<BoxError>>(name: &'static str, ended: Result<Result<(), E>, String>) -> Result<(), ExecutorError> {
    match ended {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(ExecutorError::Failed { name, error: told(error.into().as_ref()) }),
        Err(message) => Err(ExecutorError::Panicked { name, message }),
    }
}

impl<'a> FromDelivery<'a> for Executor {
    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, BoxError> {
        delivery.state().get::<Self>().cloned().ok_or_else(|| MissingState(std::any::type_name::<Self>()).into())
    }

    fn requires(out: &mut Requirements) {
        out.push(Requirement { id: TypeId::of::<Self>(), name: std::any::type_name::<Self> });
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor")
            .field("most", &self.inner.most)
            .field("running", &self.running())
            .field("failures", &self.failures())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
