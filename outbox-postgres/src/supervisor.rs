//! Loops of a service: those it cannot be without, and those that are begun again when they end.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use outbox_core::{Backoff, BoxError};
use tokio::sync::Mutex;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::cancellation::Cancellation;
use crate::error::told;

/// Between the end of a background loop and its next beginning.
const RESTARTS: Backoff = Backoff::exponential(Duration::from_millis(100), Duration::from_secs(30));
/// A loop that went on for so long was well: its next failure is a first one.
const WELL_AFTER: Duration = Duration::from_mins(1);
/// How long loops have to end behind the word to stop, unless said otherwise.
const DEFAULT_BUDGET: Duration = Duration::from_secs(10);

type Loop = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

/// Runs the loops of a service together, and ends them together.
///
/// An *essential* loop is one that the service is nothing without: when it ends, by an error, a panic or by itself, everything is stopped
/// and [`run`](Self::run) says so, so that whoever runs the process starts it again. A *background* loop is begun again, a little later each time, and the service
/// lives.
///
/// ```no_run
/// # async fn example(outbox: outbox_postgres::Outbox) -> Result<(), outbox_postgres::SupervisorError> {
/// use std::time::Duration;
///
/// use outbox_postgres::Supervisor;
///
/// Supervisor::new()
///     .essential("outbox", move |stop| {
///         let outbox = outbox.clone();
///         async move { outbox.run(async move { stop.cancelled().await }).await }
///     })
///     .every("reports", Duration::from_secs(60), || async { Ok::<_, std::io::Error>(()) })
///     .run(outbox_postgres::shutdown_signal())
///     .await
/// # }
/// ```
#[must_use = "a supervisor does nothing before it is run"]
pub struct Supervisor {
    loops: Vec<Supervised>,
    budget: Duration,
}

struct Supervised {
    name: &'static str,
    essential: bool,
    begin: Box<dyn FnMut(Cancellation) -> Loop + Send>,
}

/// The service ended otherwise than it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SupervisorError {
    /// An essential loop returned an error or panicked.
    #[error("`{name}`, which this service is nothing without, failed: {error}")]
    Failed {
        /// The loop's name.
        name: &'static str,
        /// The error's source chain, or what the panic said.
        error: String,
    },
    /// An essential loop ended before it was asked to.
    #[error("`{0}`, which this service is nothing without, ended by itself")]
    Ended(&'static str),
    /// Loops were asked to end, and did not within the budget. They were dropped.
    #[error("not ended within {budget:?} of the word to stop, and dropped: {}", names.join(", "))]
    Late {
        /// How long they had.
        budget: Duration,
        /// Their names.
        names: Vec<&'static str>,
    },
}

impl Supervisor {
    /// One without loops.
    pub fn new() -> Self {
        Self { loops: Vec::new(), budget: DEFAULT_BUDGET }
    }

    /// A loop without which the service is nothing. It ends when its cancellation fires.
    pub fn essential<F, E>(self, name: &'static str, begin: impl FnMut(Cancellation) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.with(name, true, begin)
    }

    /// A loop that is begun again when it ends, behind 100 ms at first and 30 s at most. It ends when its cancellation fires.
    pub fn background<F, E>(self, name: &'static str, begin: impl FnMut(Cancellation) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.with(name, false, begin)
    }

    /// A background loop that does the same at each tick. One turn at a time: ticks that fall due meanwhile are left out, and the others stay
    /// where they were. A turn that fails is logged, and the next tick is the next try; one under way when the word to stop comes has the budget to end.
    pub fn every<F, E>(self, name: &'static str, interval: Duration, turn: impl FnMut() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let interval = interval.max(Duration::from_millis(1));
        let turns = Arc::new(Mutex::new(turn));
        self.background(name, move |stop| {
            let turns = Arc::clone(&turns);
            async move {
                let mut ticker = tokio::time::interval(interval);
                ticker.set_missed_tick_behavior(MissedTickBehavior::Skip);
                loop {
                    tokio::select! {
                        biased;
                        () = stop.cancelled() => return Ok::<(), BoxError>(()),
                        _ = ticker.tick() => {}
                    }
                    let turn = (turns.lock().await)();
                    if let Err(error) = turn.await {
                        tracing::warn!(name, error = told(error.into().as_ref()), "a turn of this loop failed");
                    }
                }
            }
        })
    }

    /// How long loops have to end behind the word to stop; ten seconds unless said otherwise.
    pub fn shutdown_budget(self, budget: Duration) -> Self {
        Self { budget, ..self }
    }

    fn with<F, E>(
        mut self,
        name: &'static str,
        essential: bool,
        mut begin: impl FnMut(Cancellation) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let begin = move |stop| -> Loop {
            let running = begin(stop);
            Box::pin(async move { running.await.map_err(Into::into) })
        };
        self.loops.push(Supervised { name, essential, begin: Box::new(begin) });
        self
    }

    /// Runs all loops until `shutdown` is ready, or an essential one ends; then asks all to end, and drops those that have not when the
    /// budget is used up.
    ///
    /// # Errors
    /// See [`SupervisorError`].
    ///
    /// # Cancel safety
    /// Dropped in the middle, all loops are dropped.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), SupervisorError> {
        let (stop, budget) = (CancellationToken::new(), self.budget);
        // Dropped with this future, and its tasks with it.
        let mut running = JoinSet::new();
        let mut names = HashMap::new();
        for one in self.loops {
            let name = one.name;
            let handle = running.spawn(one.supervise(stop.clone()));
            names.insert(handle.id(), name);
        }
        let cause = tokio::select! {
            () = shutdown => None,
            failed = first_failure(&mut running, &mut names) => Some(failed),
        };
        stop.cancel();
        let ended = async {
            while let Some(one) = running.join_next_with_id().await {
                names.remove(&id(&one));
            }
        };
        let in_time = tokio::time::timeout(budget, ended).await.is_ok();
        match cause {
            Some(cause) => Err(cause),
            None if in_time => Ok(()),
            None => {
                let mut names: Vec<_> = names.into_values().collect();
                names.sort_unstable();
                Err(SupervisorError::Late { budget, names })
            }
        }
    }
}

impl Default for Supervisor {
    fn default() -> Self {
        Self::new()
    }
}

impl Supervised {
    /// An essential loop once, a background one again and again.
    async fn supervise(mut self, stop: CancellationToken) -> Result<(), SupervisorError> {
        let mut failures = 0;
        loop {
            let began = Instant::now();
            let running = (self.begin)(Cancellation(stop.child_token()));
            // In a task of its own, so that its panic is its end, and nobody else's.
            let mut task = JoinSet::new();
            task.spawn(running);
            let ended = task.join_next().await.unwrap_or(Ok(Ok(())));
            if stop.is_cancelled() {
                return Ok(());
            }
            let error = match ended {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(told(error.as_ref())),
                Err(error) => Some(panicked(error)),
            };
            if self.essential {
                let name = self.name;
                return Err(error.map_or(SupervisorError::Ended(name), |error| SupervisorError::Failed { name, error }));
            }
            failures = if began.elapsed() >= WELL_AFTER { 1 } else { failures + 1 };
            let pause = RESTARTS.delay(failures, rand::random());
            let error = error.unwrap_or_else(|| "it ended by itself".to_owned());
            tracing::warn!(
                name = self.name,
                error,
                failures,
                again_in = format!("{pause:.1?}"),
                "a loop ended, and is begun again"
            );
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }
}

type Joined = Result<(tokio::task::Id, Result<(), SupervisorError>), JoinError>;

fn id(one: &Joined) -> tokio::task::Id {
    match one {
        Ok((id, _)) => *id,
        Err(error) => error.id(),
    }
}

async fn first_failure(
    running: &mut JoinSet<Result<(), SupervisorError>>,
    names: &mut HashMap<tokio::task::Id, &'static str>,
) -> SupervisorError {
    while let Some(one) = running.join_next_with_id().await {
        let name = names.remove(&id(&one)).unwrap_or("a loop");
        match one {
            Ok((_, Ok(()))) => {}
            Ok((_, Err(failed))) => return failed,
            Err(error) => return SupervisorError::Failed { name, error: panicked(error) },
        }
    }
    // Without loops there is nothing to fail.
    std::future::pending().await
}

fn panicked(error: JoinError) -> String {
    match error.try_into_panic() {
        Ok(panic) => format!("it panicked: {}", crate::unwind::message(panic.as_ref())),
        Err(error) => error.to_string(),
    }
}

impl fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.loops.iter().map(|one| one.name).collect();
        f.debug_struct("Supervisor").field("loops", &names).field("budget", &self.budget).finish()
    }
}
