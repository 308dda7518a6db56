//! `job.enqueue(&mut tx)`: a command for exactly one handler, in the caller's transaction.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Utc};
use outbox_core::{BoxFuture, Job, JobId, Metadata, Payload, version};
use sqlx::{Connection, PgConnection};

use crate::error::PublishError;
use crate::outbox::Outbox;
use crate::publish::{check_key, context, encode, storable};
use crate::{identity, scope, step};

/// What an enqueue came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enqueued {
    /// The job's id; on a duplicate key, the first job's.
    pub job_id: JobId,
    /// Whether the key had been enqueued before, so that nothing was written now.
    pub duplicate: bool,
}

/// Enqueuing a job.
pub trait Enqueue: Job {
    /// Enqueues this job in the caller's transaction, in one round trip. It runs after the commit, and only then.
    ///
    /// # Errors
    /// See [`PublishError`]. All but its `Database` leave the transaction usable.
    ///
    /// # Cancel safety
    /// Not cancel safe once awaited: dropped in the middle, it leaves the statement's fate open. Roll the transaction back.
    fn enqueue<'c>(&self, transaction: &'c mut PgConnection) -> Enqueuing<'c>;
}

impl<J: Job> Enqueue for J {
    fn enqueue<'c>(&self, transaction: &'c mut PgConnection) -> Enqueuing<'c> {
        Enqueuing::new(transaction, scope::current(J::NAME).and_then(|outbox| outbox.order(self)))
    }
}

/// A job, encoded and ready to be sent.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) outbox: Outbox,
    pub(crate) id: JobId,
    pub(crate) name: &'static str,
    pub(crate) version: u32,
    pub(crate) payload: Payload,
    pub(crate) metadata: Metadata,
    pub(crate) key: Option<String>,
    pub(crate) priority: Option<u8>,
    pub(crate) delay: Duration,
    pub(crate) not_before: Option<DateTime<Utc>>,
    pub(crate) expires: Option<Duration>,
}

impl Order {
    pub(crate) fn of<J: Job>(outbox: Outbox, job: &J) -> Result<Self, PublishError> {
        let payload = encode(job, outbox.payload_limit())?;
        Ok(Self {
            outbox,
            id: identity::job(),
            name: J::NAME,
            version: version::stored::<J>(),
            payload,
            metadata: scope::context(),
            key: None,
            priority: None,
            delay: Duration::ZERO,
            not_before: None,
            expires: J::EXPIRES,
        })
    }

    async fn send(self, connection: &mut PgConnection) -> Result<Enqueued, PublishError> {
        if !connection.is_in_transaction() {
            return Err(PublishError::NoTransaction { name: self.name });
        }
        check_key(self.name, self.key.as_deref())?;
        let metadata = context(self.name, &self.metadata)?;
        let enqueued = step::enqueue::enqueue(connection, &self, &metadata).await?;
        self.outbox.note_published();
        Ok(enqueued)
    }
}

/// An enqueue that takes place when it is awaited.
#[must_use = "nothing is enqueued until this is awaited"]
pub struct Enqueuing<'c> {
    connection: &'c mut PgConnection,
    order: Result<Order, PublishError>,
}

impl<'c> Enqueuing<'c> {
    pub(crate) fn new(connection: &'c mut PgConnection, order: Result<Order, PublishError>) -> Self {
        Self { connection, order }
    }

    fn set(mut self, set: impl FnOnce(&mut Order)) -> Self {
        if let Ok(order) = &mut self.order {
            set(order);
        }
        self
    }

    /// Enqueues at most once for this key, of 1,024 bytes at most: a second time writes nothing and answers the first job's id.
    pub fn key(self, key: impl Into<String>) -> Self {
        self.set(|order| order.key = Some(key.into()))
    }

    /// Due no earlier than this long after the statement, by the database's clock.
    pub fn delay(self, delay: Duration) -> Self {
        self.set(|order| order.delay = delay)
    }

    /// Due no earlier than at this moment, by the database's clock.
    pub fn not_before(self, moment: DateTime<Utc>) -> Self {
        self.set(|order| order.not_before = Some(storable(moment)))
    }

    /// Not begun later than this long behind its due time, by the database's clock: it then ends as failed, reason expired, without a call, and
    /// stands among the failed ones. Default: what `#[job(.., expires = "10m")]` says of its type, else never.
    pub fn expires(self, time: Duration) -> Self {
        self.set(|order| order.expires = Some(time))
    }

    /// Another priority than its handler's: 0 runs first, 3 last; a larger number counts as 3.
    pub fn priority(self, priority: u8) -> Self {
        self.set(|order| order.priority = Some(priority.min(outbox_core::subscriber::LOWEST_PRIORITY)))
    }

    /// Who asked for it.
    pub fn actor(self, actor: impl Into<String>) -> Self {
        self.set(|order| order.metadata.actor = Some(actor.into()))
    }

    /// The tenant or project within which it is to be done.
    pub fn tenant(self, tenant: impl Into<String>) -> Self {
        self.set(|order| order.metadata.tenant = Some(tenant.into()))
    }

    /// What ties together everything that one request set in motion.
    pub fn correlation(self, correlation: impl Into<String>) -> Self {
        self.set(|order| order.metadata.correlation = Some(correlation.into()))
    }

    /// W3C trace context, as the headers `traceparent` and `tracestate` carry it: of the span that enqueues, where the context around it has
    /// that of the request.
    pub fn trace(self, traceparent: impl Into<String>, tracestate: Option<String>) -> Self {
        self.set(|order| {
            order.metadata.traceparent = Some(traceparent.into());
            order.metadata.tracestate = tracestate;
        })
    }

    /// Anything else that its handler should see, as text by name.
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.set(|order| drop(order.metadata.headers.insert(name.into(), value.into())))
    }
}

impl<'c> IntoFuture for Enqueuing<'c> {
    type Output = Result<Enqueued, PublishError>;
    type IntoFuture = BoxFuture<'c, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.order?.send(self.connection).await })
    }
}

impl fmt::Debug for Enqueuing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Enqueuing").field("order", &self.order).finish_non_exhaustive()
    }
}
