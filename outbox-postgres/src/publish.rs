//! `event.publish(&mut tx)` and `events.publish_all(&mut tx)`.

use std::fmt;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use outbox_core::{BoxFuture, Event, EventId, Message, Metadata, Payload, version};
use sqlx::{Connection, PgConnection};

use crate::error::PublishError;
use crate::jsonb::{self, Refusal};
use crate::outbox::Outbox;
use crate::{catalogue, identity, in_transaction, scope};

/// What a publish came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// The event's id; on a duplicate key, the first event's.
    pub event_id: EventId,
    /// How many jobs were written: one for each subscriber. None on a duplicate.
    pub jobs: u64,
    /// Whether the key had been published before, so that nothing was written now.
    pub duplicate: bool,
}

/// Publishing one event.
pub trait Publish: Event {
    /// Publishes this event in the caller's transaction: one event row and one job row for each subscriber, in one round
    /// trip. They commit, or roll back, with everything else that the transaction wrote.
    ///
    /// Where the event has in-transaction subscribers, they run before this answers, behind a savepoint: when one fails, nothing of
    /// the event is left and the transaction is still usable.
    ///
    /// The event is encoded at the call. It belongs to the outbox of the current scope (a handler's, or
    /// [`Outbox::scope`]'s), else to the only one built in the process.
    ///
    /// # Errors
    /// See [`PublishError`]. All but its `Database` leave the transaction usable.
    ///
    /// # Cancel safety
    /// Not cancel safe once awaited: dropped in the middle, it leaves the statement's fate open. Roll the transaction back.
    fn publish<'c>(&self, transaction: &'c mut PgConnection) -> Publishing<'c>;
}

impl<E: Event> Publish for E {
    fn publish<'c>(&self, transaction: &'c mut PgConnection) -> Publishing<'c> {
        Publishing {
            connection: transaction,
            batch: scope::current(E::NAME).and_then(|outbox| outbox.batch(std::slice::from_ref(self))),
        }
    }
}

/// Publishing many events of one type.
pub trait PublishAll {
    /// Publishes all of them in the caller's transaction, a thousand a statement. All are encoded and checked before the
    /// first is sent, so a refused one leaves nothing behind.
    ///
    /// # Errors
    /// See [`PublishError`]. All but its `Database` leave the transaction usable.
    ///
    /// # Cancel safety
    /// Not cancel safe once awaited: dropped in the middle, some of the events are written. Roll the transaction back.
    fn publish_all<'c>(&self, transaction: &'c mut PgConnection) -> PublishingAll<'c>;
}

impl<E: Event> PublishAll for [E] {
    fn publish_all<'c>(&self, transaction: &'c mut PgConnection) -> PublishingAll<'c> {
        PublishingAll { connection: transaction, batch: scope::current(E::NAME).and_then(|outbox| outbox.batch(self)) }
    }
}

/// Events of one type, encoded and ready to be sent.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) outbox: Outbox,
    pub(crate) name: &'static str,
    pub(crate) version: u32,
    pub(crate) rows: Vec<Row>,
    pub(crate) metadata: Metadata,
    pub(crate) delay: Duration,
    pub(crate) not_before: Option<DateTime<Utc>>,
}

/// One event of a batch.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) id: EventId,
    pub(crate) subject_id: Option<String>,
    pub(crate) payload: Payload,
    pub(crate) key: Option<String>,
}

impl Batch {
    pub(crate) fn of<E: Event>(outbox: Outbox, events: &[E]) -> Result<Self, PublishError> {
        let service = outbox.config().service.as_deref();
        if let Some(owner) = E::OWNER.filter(|owner| service != Some(owner)) {
            return Err(PublishError::NotTheOwner { name: E::NAME, owner, service: service.map(str::to_owned) });
        }
        let limit = outbox.payload_limit();
        let row = |event: &E| {
            Ok(Row { id: identity::event(), subject_id: event.subject_id(), payload: encode(event, limit)?, key: None })
        };
        let rows = events.iter().map(row).collect::<Result<_, PublishError>>()?;
        Ok(Self {
            outbox,
            name: E::NAME,
            version: version::stored::<E>(),
            rows,
            metadata: scope::context(),
            delay: Duration::ZERO,
            not_before: None,
        })
    }

    /// Refuses what the server would refuse, while the transaction is still usable.
    fn check(&self, connection: &PgConnection) -> Result<String, PublishError> {
        if !connection.is_in_transaction() {
            return Err(PublishError::NoTransaction { name: self.name });
        }
        for row in &self.rows {
            check_text(self.name, "subject", row.subject_id.as_deref())?;
            check_key(self.name, row.key.as_deref())?;
        }
        context(self.name, &self.metadata)
    }

    async fn send(self, connection: &mut PgConnection) -> Result<Vec<Published>, PublishError> {
        let began = Instant::now();
        let metadata = self.check(connection)?;
        let subscribers = self.outbox.fan_out(self.name).subscribers.clone();
        let published: Vec<Published> = if subscribers.is_empty() {
            let answers = catalogue::publish(connection, &self, &metadata).await?;
            answers.into_iter().map(|answer| answer.published).collect()
        } else {
            // Boxed, because its future is large and most publishes do without; and what they run may publish again.
            Box::pin(in_transaction::publish(connection, &self, &metadata, &subscribers)).await?
        };
        self.outbox.note_published();
        self.outbox.inner().meters.published(
            self.name,
            published.iter().filter(|one| !one.duplicate).count(),
            began.elapsed(),
        );
        Ok(published)
    }
}

/// The payload as JSON that PostgreSQL takes.
pub(crate) fn encode<M: Message>(message: &M, limit: usize) -> Result<Payload, PublishError> {
    let name = M::NAME;
    let json = version::write(message).map_err(|source| PublishError::Encode { name, source })?;
    if json.len() > limit {
        return Err(PublishError::TooLarge { name, size: json.len(), limit });
    }
    match jsonb::refusal(&json) {
        Some(refusal) => Err(PublishError::Payload { name, refusal }),
        None => Ok(Payload::from_json(json)),
    }
}

pub(crate) fn check_text(name: &'static str, what: &'static str, text: Option<&str>) -> Result<(), PublishError> {
    match text {
        Some(text) if text.contains('\0') => Err(PublishError::Context { name, what, refusal: Refusal::Nul }),
        _ => Ok(()),
    }
}

/// Longest key, in bytes. An index row takes 2,704, the name included.
const KEY_LIMIT: usize = 1_024;

pub(crate) fn check_key(name: &'static str, key: Option<&str>) -> Result<(), PublishError> {
    match key {
        Some(key) if key.len() > KEY_LIMIT => Err(PublishError::KeyTooLong { name, size: key.len(), limit: KEY_LIMIT }),
        key => check_text(name, "key", key),
    }
}

/// A moment that PostgreSQL's calendar holds; before 1970 or long ago is the same to a job.
pub(crate) fn storable(moment: DateTime<Utc>) -> DateTime<Utc> {
    moment.max(DateTime::UNIX_EPOCH)
}

/// The context as JSON that PostgreSQL takes.
pub(crate) fn context(name: &'static str, metadata: &Metadata) -> Result<String, PublishError> {
    let json = serde_json::to_string(metadata).map_err(|source| PublishError::Encode { name, source })?;
    match jsonb::refusal(&json) {
        Some(refusal) => Err(PublishError::Context { name, what: "context", refusal }),
        None => Ok(json),
    }
}

/// A publish that takes place when it is awaited.
#[must_use = "nothing is published until this is awaited"]
pub struct Publishing<'c> {
    connection: &'c mut PgConnection,
    batch: Result<Batch, PublishError>,
}

impl<'c> Publishing<'c> {
    pub(crate) fn new(connection: &'c mut PgConnection, batch: Result<Batch, PublishError>) -> Self {
        Self { connection, batch }
    }

    /// Publishes at most once for this key, of 1,024 bytes at most: a second publish of this event's type with the same key
    /// writes nothing and answers the first one's id. Keys are kept longer than any replay reaches back.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        if let Ok(Row { key: slot, .. }) = self.batch.as_mut().map(|batch| &mut batch.rows[0]) {
            *slot = Some(key.into());
        }
        self
    }
}

/// A publish of many events that takes place when it is awaited.
#[must_use = "nothing is published until this is awaited"]
pub struct PublishingAll<'c> {
    connection: &'c mut PgConnection,
    batch: Result<Batch, PublishError>,
}

impl<'c> PublishingAll<'c> {
    pub(crate) fn new(connection: &'c mut PgConnection, batch: Result<Batch, PublishError>) -> Self {
        Self { connection, batch }
    }

    /// Gives each event a key, in their order; see [`Publishing::key`]. Events without a key of their own get none.
    pub fn keys<K: Into<String>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        if let Ok(batch) = &mut self.batch {
            for (row, key) in batch.rows.iter_mut().zip(keys) {
                row.key = Some(key.into());
            }
        }
        self
    }
}

macro_rules! context_setters {
    ($builder:ident) => {
        impl $builder<'_> {
            fn metadata(mut self, set: impl FnOnce(&mut Metadata)) -> Self {
                if let Ok(batch) = &mut self.batch {
                    set(&mut batch.metadata);
                }
                self
            }

            /// Who did it.
            pub fn actor(self, actor: impl Into<String>) -> Self {
                self.metadata(|metadata| metadata.actor = Some(actor.into()))
            }

            /// The tenant or project within which it happened.
            pub fn tenant(self, tenant: impl Into<String>) -> Self {
                self.metadata(|metadata| metadata.tenant = Some(tenant.into()))
            }

            /// What ties together everything that one request set in motion.
            pub fn correlation(self, correlation: impl Into<String>) -> Self {
                self.metadata(|metadata| metadata.correlation = Some(correlation.into()))
            }

            /// W3C trace context, as the headers `traceparent` and `tracestate` carry it: of the span that publishes, where the context
            /// around it has that of the request.
            pub fn trace(self, traceparent: impl Into<String>, tracestate: Option<String>) -> Self {
                self.metadata(|metadata| {
                    metadata.traceparent = Some(traceparent.into());
                    metadata.tracestate = tracestate;
                })
            }

            /// Anything else that handlers should see, as text by name.
            pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
                self.metadata(|metadata| drop(metadata.headers.insert(name.into(), value.into())))
            }

            /// The jobs are due no earlier than this long after the statement, by the database's clock.
            pub fn delay(mut self, delay: Duration) -> Self {
                if let Ok(batch) = &mut self.batch {
                    batch.delay = delay;
                }
                self
            }

            /// The jobs are due no earlier than at this moment, by the database's clock.
            pub fn not_before(mut self, moment: DateTime<Utc>) -> Self {
                if let Ok(batch) = &mut self.batch {
                    batch.not_before = Some(storable(moment));
                }
                self
            }
        }

        impl fmt::Debug for $builder<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($builder)).field("batch", &self.batch).finish_non_exhaustive()
            }
        }
    };
}

context_setters!(Publishing);
context_setters!(PublishingAll);

impl<'c> IntoFuture for Publishing<'c> {
    type Output = Result<Published, PublishError>;
    type IntoFuture = BoxFuture<'c, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Ok(self.batch?.send(self.connection).await?[0]) })
    }
}

impl<'c> IntoFuture for PublishingAll<'c> {
    type Output = Result<Vec<Published>, PublishError>;
    type IntoFuture = BoxFuture<'c, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.batch?.send(self.connection).await })
    }
}
