//! The handle that an application holds.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use outbox_core::{Event, Job, Metadata, Registry, Schedule, SubscriberDescriptor, TypeMap};
use sqlx::postgres::PgConnectOptions;
use sqlx::{PgConnection, PgPool};

use crate::builder::OutboxBuilder;
use crate::catalogue::Catalogue;
use crate::config::{Config, Direct};
use crate::enqueue::{Enqueuing, Order};
use crate::error::{PublishError, RunError};
use crate::executing::Executing;
use crate::fan_out::FanOut;
use crate::health::Health;
use crate::lane::Lane;
use crate::live::{Hub, LiveStreams};
use crate::meters::Meters;
use crate::parked::AskedTo;
use crate::publish::{Batch, Publishing, PublishingAll};
use crate::schema::Schema;
use crate::scope::{self, Scope};
use crate::service::{self, Drained, RanDue, Roster};
use crate::step::Statements;
use crate::to_the_end::ToTheEnd;
use crate::transaction::OutboxTransaction;
use crate::vitals::Vitals;
use crate::wake::Wake;

/// An outbox: what a process publishes through, and, while [`run`](Self::run) runs, one worker.
///
/// Cheap to clone; all clones are the same outbox.
#[derive(Clone)]
pub struct Outbox {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) pool: PgPool,
    pub(crate) config: Config,
    pub(crate) statements: Statements,
    pub(crate) registry: Registry,
    /// Handlers that this process runs.
    pub(crate) runs: Vec<&'static SubscriberDescriptor>,
    pub(crate) state: TypeMap,
    pub(crate) fan_outs: HashMap<&'static str, FanOut>,
    pub(crate) catalogue: Catalogue,
    pub(crate) wake: Arc<Wake>,
    pub(crate) published: AtomicU64,
    pub(crate) running: AtomicBool,
    pub(crate) vitals: Arc<Vitals>,
    pub(crate) executing: Executing,
    pub(crate) live: Arc<Hub>,
    pub(crate) meters: Meters,
    pub(crate) asked_to: AskedTo,
}

impl Inner {
    /// The schedules whose ticks this process takes.
    pub(crate) fn schedules(&self) -> impl Iterator<Item = (&'static SubscriberDescriptor, Schedule)> + '_ {
        self.runs.iter().filter_map(|handler| Some((*handler, handler.schedule()?)))
    }
}

impl Outbox {
    /// Begins to describe an outbox on the application's pool. Handlers that take `Tx` get their connections from it; the
    /// engine has a few of its own beside it.
    pub fn builder(pool: PgPool) -> OutboxBuilder {
        OutboxBuilder::new(pool)
    }

    pub(crate) fn from_inner(inner: Arc<Inner>) -> Self {
        Self { inner }
    }

    /// A transaction on the application's pool whose commit wakes the workers.
    ///
    /// # Errors
    /// When the pool has no connection to give, or `BEGIN` fails.
    ///
    /// # Cancel safety
    /// Dropping this future leaves no open transaction behind: `BEGIN` runs to its end in a task of its own.
    pub async fn begin(&self) -> Result<OutboxTransaction, sqlx::Error> {
        // Dropped while BEGIN is under way, sqlx's own future would give the connection back with the transaction open.
        let pool = self.inner.pool.clone();
        let transaction = ToTheEnd::new(async move { pool.begin().await }).await?;
        Ok(OutboxTransaction::new(transaction, self.clone()))
    }

    /// Publishes in the caller's transaction through this outbox, whatever the scope; see [`Publish::publish`](crate::Publish::publish).
    pub fn publish<'c, E: Event>(&self, transaction: &'c mut PgConnection, event: &E) -> Publishing<'c> {
        Publishing::new(transaction, self.batch(std::slice::from_ref(event)))
    }

    /// Publishes many in the caller's transaction through this outbox, whatever the scope; see
    /// [`PublishAll::publish_all`](crate::PublishAll::publish_all).
    pub fn publish_all<'c, E: Event>(&self, transaction: &'c mut PgConnection, events: &[E]) -> PublishingAll<'c> {
        PublishingAll::new(transaction, self.batch(events))
    }

    /// Enqueues in the caller's transaction through this outbox, whatever the scope; see
    /// [`Enqueue::enqueue`](crate::Enqueue::enqueue).
    pub fn enqueue<'c, J: Job>(&self, transaction: &'c mut PgConnection, job: &J) -> Enqueuing<'c> {
        Enqueuing::new(transaction, self.order(job))
    }

    /// Makes this the outbox that `publish` and `enqueue` inside `future` belong to. The context stays that of the scope around it,
    /// if there is one.
    ///
    /// # Cancel safety
    /// As safe as `future` is.
    pub async fn scope<F: Future>(&self, future: F) -> F::Output {
        Scope::new(self.clone()).run(future).await
    }

    /// The same, with the context that everything published or enqueued inside `future` begins with: once a request, in a middleware.
    /// A publish may say otherwise for itself. What `context` does not say is that of the scope around it, if there is one.
    ///
    /// Jobs carry it to their handlers, as [`Envelope::metadata`](outbox_core::Envelope), and what handlers publish carries it on. A
    /// task that is spawned inside of `future` begins without it: see [`context`](crate::context).
    ///
    /// ```no_run
    /// # async fn handle(outbox: outbox_postgres::Outbox) {
    /// use outbox_core::Metadata;
    ///
    /// let context = Metadata::new().actor("ann").tenant("project 12").header("via_webhook", "true");
    /// outbox.scope_with(context, async { /* the request */ }).await;
    /// # }
    /// ```
    ///
    /// # Cancel safety
    /// As safe as `future` is.
    pub async fn scope_with<F: Future>(&self, context: Metadata, future: F) -> F::Output {
        Scope::with(self.clone(), context).run(future).await
    }

    /// Wakes the workers of this process at once and those of others by NOTIFY. For after the commit of a transaction that
    /// was not begun by [`begin`](Self::begin).
    pub fn kick(&self) {
        self.inner.wake.kick();
    }

    /// Runs this process's worker until `shutdown` is ready: claims due jobs, runs and settles them, takes over the jobs of
    /// workers that died, reconnects by itself.
    ///
    /// On shutdown [live streams](Self::live) end, nothing more is claimed, handlers see their `Cancellation`, and what is not finished within the shutdown
    /// budget is given back at once, due now and uncharged.
    ///
    /// # Errors
    /// When it is running already, or there is nothing to run. A database that is away is no error: it waits for it.
    ///
    /// # Cancel safety
    /// Dropping this future stops the worker without waiting: its jobs are taken over by others when the lease ends.
    pub async fn run(&self, shutdown: impl Future<Output = ()>) -> Result<(), RunError> {
        service::run(self, shutdown).await
    }

    /// Runs every job that is due, and those that become due meanwhile, until none is left; for tests and one-off commands.
    /// Jobs that wait for a retry or a later time are not waited for.
    ///
    /// # Errors
    /// When it is running already, or the database refuses a statement.
    ///
    /// # Cancel safety
    /// As for [`run`](Self::run).
    pub async fn drain(&self) -> Result<Drained, service::DrainError> {
        service::drain(self).await
    }

    /// For tests: takes the ticks of this process's schedules that are due, then runs every job that is due, and what those jobs publish
    /// and enqueue, until none is left. Answers what ran, in order.
    ///
    /// It runs here and now, one job (or one batch) at a time: lower priorities' numbers first, then in the order in which jobs became due,
    /// then in which they were published. A retry is due exactly when its backoff says, without the random part that a worker adds. What is due
    /// later is for a clock that the test moves: `Sandbox::with_clock` of `outbox-testing`.
    ///
    /// ```no_run
    /// # async fn example(outbox: outbox_postgres::Outbox) -> Result<(), Box<dyn std::error::Error>> {
    /// let ran = outbox.run_due().await?;
    /// assert_eq!(ran.handlers(), ["inventory.take", "notifications.confirm"]);
    /// assert!(ran.iter().all(|one| one.error.is_none()), "{ran:#?}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`drain`](Self::drain). A job that fails is none: it is in the answer.
    ///
    /// # Cancel safety
    /// As for [`run`](Self::run).
    pub async fn run_due(&self) -> Result<RanDue, service::DrainError> {
        service::run_due(self).await
    }

    /// How this process's worker is, for liveness and readiness probes: from memory, at once, without asking the database.
    ///
    /// ```no_run
    /// # async fn probes(outbox: &outbox_postgres::Outbox) {
    /// let health = outbox.health();
    /// let (live, ready) = (health.is_live(), health.is_ready());
    /// println!("{health}");
    /// # }
    /// ```
    #[must_use]
    pub fn health(&self) -> Health {
        Health::of(self.vitals(), self.config().lease, Roster::of(self).most_executions(self))
    }

    /// Live streams: committed events as they commit, best effort, for whoever looks on now.
    #[must_use]
    pub fn live(&self) -> LiveStreams {
        LiveStreams::new(self.clone())
    }

    /// What is linked into this binary, as `event -> [handlers]`.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// The schema that its tables live in.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.inner.config.schema
    }

    /// The application's pool.
    #[must_use]
    pub fn pool(&self) -> &PgPool {
        &self.inner.pool
    }

    pub(crate) fn downgrade(&self) -> Weak<Inner> {
        Arc::downgrade(&self.inner)
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    pub(crate) fn config(&self) -> &Config {
        &self.inner.config
    }

    pub(crate) fn vitals(&self) -> &Arc<Vitals> {
        &self.inner.vitals
    }

    /// Where the engine's own connections go.
    pub(crate) fn engine_options(&self) -> Arc<PgConnectOptions> {
        // Asked each time: an application may give its pool other options while it runs, for a new password.
        let direct = self.config().direct.clone();
        direct.map_or_else(|| self.pool().connect_options(), |Direct(server)| Arc::new(server))
    }

    /// A connection of the engine's own for `purpose`.
    pub(crate) fn lane(&self, purpose: &str) -> Lane {
        Lane::new(&self.engine_options(), self.config().sharing(), purpose)
    }

    pub(crate) fn statements(&self) -> &Statements {
        &self.inner.statements
    }

    pub(crate) fn state(&self) -> &TypeMap {
        &self.inner.state
    }

    pub(crate) fn payload_limit(&self) -> usize {
        self.inner.config.payload_limit
    }

    pub(crate) fn batch<E: Event>(&self, events: &[E]) -> Result<Batch, PublishError> {
        Batch::of(self.clone(), events)
    }

    pub(crate) fn order<J: Job>(&self, job: &J) -> Result<Order, PublishError> {
        Order::of(self.clone(), job)
    }

    /// What this binary knows of an event's subscribers, made once for the events that are linked.
    pub(crate) fn fan_out(&self, event: &str) -> std::borrow::Cow<'_, FanOut> {
        match self.inner.fan_outs.get(event) {
            Some(fan_out) => std::borrow::Cow::Borrowed(fan_out),
            None => std::borrow::Cow::Owned(FanOut::of(&self.inner.registry, event)),
        }
    }

    /// How often anything was published through this outbox.
    pub(crate) fn published(&self) -> u64 {
        self.inner.published.load(Ordering::Relaxed)
    }

    pub(crate) fn note_published(&self) {
        self.inner.published.fetch_add(1, Ordering::Relaxed);
        scope::note_published();
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox")
            .field("schema", &self.schema().as_str())
            .field("name", &self.config().name)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").finish_non_exhaustive()
    }
}
