//! Looking at quarantine, and deciding: once more, or not at all.

use std::collections::HashSet;
use std::fmt;

use chrono::{DateTime, Utc};
use outbox_core::{Envelope, EventId, QuarantineId};
use sqlx::PgConnection;

use super::arrival::{QuarantineClass, Taken, Unfit};
use super::{STORE_LIMIT, Way, judge, store};
use crate::error::OperationError;
use crate::outbox::Outbox;
use crate::sqlstate::{self, Class};
use crate::step::{self, quarantine::InHand};

/// Most messages that go the way again in one transaction.
const TOGETHER: usize = 100;

/// A message in quarantine, without headers and body.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quarantined {
    /// Its id here.
    pub id: QuarantineId,
    /// The source that it came from.
    pub source: String,
    /// When it came first.
    pub first_at: DateTime<Utc>,
    /// When it came last.
    pub last_at: DateTime<Utc>,
    /// How often it came.
    pub times: u64,
    /// The kind of reason, as a [`QuarantineClass`] writes itself; a later release may know others.
    pub class: String,
    /// The reason, without payload.
    pub reason: String,
    /// The event's id, where it says one.
    pub event_id: Option<EventId>,
    /// The event's name, where it says one; be it a name or not.
    pub event_type: Option<String>,
    /// The version of its payload, where it says one.
    pub event_version: Option<u32>,
}

/// A message in quarantine, as it came.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuarantinedMessage {
    /// Its headers as a JSON object, those alone that may be kept.
    pub headers: String,
    /// Its body, byte for byte.
    pub body: Vec<u8>,
}

/// Shows sizes only.
impl fmt::Debug for QuarantinedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QuarantinedMessage({} bytes of headers, {} of body)", self.headers.len(), self.body.len())
    }
}

/// Which messages in quarantine: all, unless it is narrowed down.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    pub(crate) source: Option<String>,
    pub(crate) class: Option<QuarantineClass>,
    pub(crate) event_type: Option<String>,
    pub(crate) ids: Option<Vec<QuarantineId>>,
}

impl Selection {
    /// All of them.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Only those of this source.
    #[must_use]
    pub fn source(self, source: impl Into<String>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// Only those of this class.
    #[must_use]
    pub fn class(self, class: QuarantineClass) -> Self {
        Self { class: Some(class), ..self }
    }

    /// Only those that say this name.
    #[must_use]
    pub fn event_type(self, name: impl Into<String>) -> Self {
        Self { event_type: Some(name.into()), ..self }
    }

    /// Only these.
    #[must_use]
    pub fn ids(self, ids: impl IntoIterator<Item = QuarantineId>) -> Self {
        Self { ids: Some(ids.into_iter().collect()), ..self }
    }
}

/// What came of another try.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Redriven {
    /// It is an event now, and stands in quarantine no more.
    Stored {
        /// The event's id.
        event_id: EventId,
        /// Jobs that it has.
        jobs: u64,
    },
    /// It is an event that was there already, and stands in quarantine no more.
    Duplicate {
        /// The event's id.
        event_id: EventId,
    },
    /// It is no event here still, for this reason now.
    Quarantined(Unfit),
    /// It does not stand in quarantine any more, or somebody else has it in hand at this moment.
    Gone,
}

type Read<'r> = &'r (dyn Fn(&str, &[u8]) -> Result<Envelope, Unfit> + Sync);

impl Outbox {
    /// What stands in quarantine, oldest first, behind `behind`, at most `most`.
    ///
    /// # Errors
    /// When the database refuses, or is away.
    pub async fn quarantined(
        &self,
        selection: &Selection,
        behind: Option<QuarantineId>,
        most: u32,
    ) -> Result<Vec<Quarantined>, OperationError> {
        let mut connection = self.pool().acquire().await?;
        Ok(step::quarantine::list(&mut connection, self.statements(), selection, behind, most).await?)
    }

    /// One message as it came; `None`: it does not stand in quarantine.
    ///
    /// # Errors
    /// When the database refuses, or is away.
    pub async fn quarantined_message(&self, id: QuarantineId) -> Result<Option<QuarantinedMessage>, OperationError> {
        let mut connection = self.pool().acquire().await?;
        let found = step::quarantine::get(&mut connection, self.statements(), id).await?;
        Ok(found.map(|(headers, body)| QuarantinedMessage { headers, body }))
    }

    /// Has messages go the whole way again: read by `read` from their headers and body, judged, stored with their jobs, and only with that
    /// taken out of quarantine. Answers for each in its order. For the crate `outbox-ingest`, which knows how to read them.
    ///
    /// # Errors
    /// When the database is away or keeps it waiting: those that were not answered for stand where they stood.
    ///
    /// # Cancel safety
    /// Dropped in the middle, a part of them is done. To go on, say it again.
    pub async fn redrive_quarantined(
        &self,
        ids: &[QuarantineId],
        everything: bool,
        read: Read<'_>,
    ) -> Result<Vec<Redriven>, OperationError> {
        let mut redriven = Vec::with_capacity(ids.len());
        let mut parts: Vec<_> = ids.chunks(TOGETHER).rev().collect();
        while let Some(part) = parts.pop() {
            match redrive(self, part, everything, read).await {
                Ok(some) => redriven.extend(some),
                Err(error) if sqlstate::classify(&error) == Class::Refused && part.len() > 1 => {
                    let (front, back) = part.split_at(part.len() / 2);
                    parts.extend([back, front]);
                }
                Err(error) if sqlstate::classify(&error) == Class::Refused => {
                    redriven.push(refused(self, part[0], &error).await?);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(redriven)
    }

    /// Takes messages out of quarantine for good. Answers which of them stood there.
    ///
    /// # Errors
    /// When the database refuses, or is away.
    pub async fn discard_quarantined(&self, ids: &[QuarantineId]) -> Result<Vec<QuarantineId>, OperationError> {
        let mut connection = self.pool().acquire().await?;
        let gone = step::quarantine::remove(&mut connection, self.statements(), ids).await?;
        for id in &gone {
            tracing::info!(%id, "discarded from quarantine");
        }
        Ok(gone)
    }
}

async fn redrive(
    outbox: &Outbox,
    ids: &[QuarantineId],
    everything: bool,
    read: Read<'_>,
) -> Result<Vec<Redriven>, sqlx::Error> {
    let together = async {
        let mut transaction = outbox.pool().begin_with("begin isolation level read committed").await?;
        match redrive_in(&mut transaction, outbox, ids, everything, read).await {
            Ok(redriven) => transaction.commit().await.map(|()| redriven),
            Err(error) => {
                // Waited for: its rows would still be in somebody's hands for the next try, over another connection.
                let _ = transaction.rollback().await;
                Err(error)
            }
        }
    };
    let redriven = tokio::time::timeout(STORE_LIMIT, together).await.unwrap_or(Err(sqlx::Error::PoolTimedOut))?;
    if redriven.iter().any(|one| matches!(one, Redriven::Stored { jobs: 1.., .. })) {
        outbox.kick();
    }
    for (id, one) in ids.iter().zip(&redriven) {
        match one {
            Redriven::Stored { event_id, jobs } => {
                tracing::info!(%id, event = %event_id, jobs, "redriven from quarantine");
            }
            Redriven::Duplicate { event_id } => tracing::info!(%id, event = %event_id, "was an event already"),
            Redriven::Quarantined(unfit) => {
                tracing::warn!(%id, class = %unfit.class, reason = unfit.reason, "stays in quarantine");
            }
            Redriven::Gone => {}
        }
    }
    Ok(redriven)
}

/// The database refuses one by itself: it stays, and says so.
async fn refused(outbox: &Outbox, id: QuarantineId, error: &sqlx::Error) -> Result<Redriven, sqlx::Error> {
    let unfit = Unfit {
        class: QuarantineClass::WrongPayload,
        reason: format!("the database refuses it, SQLSTATE {}", sqlstate::code(error).unwrap_or_default()),
        event_id: None,
        event_type: None,
        event_version: None,
    };
    let mut connection = outbox.pool().acquire().await?;
    step::quarantine::again(&mut connection, outbox.statements(), &[(id, unfit.clone())]).await?;
    Ok(Redriven::Quarantined(unfit))
}

async fn redrive_in(
    connection: &mut PgConnection,
    outbox: &Outbox,
    ids: &[QuarantineId],
    everything: bool,
    read: Read<'_>,
) -> Result<Vec<Redriven>, sqlx::Error> {
    let statements = outbox.statements();
    let messages = step::quarantine::take(connection, statements, ids).await?;
    let judge = |one: &InHand| judge::judged(outbox, &one.source, read(&one.headers, &one.body));
    let judged: Vec<_> = messages.iter().map(judge).collect();
    let way = Way { outbox: outbox.clone(), source: String::new(), everything };
    let events = store::events(connection, &way, &judged).await?;
    let (mut out, mut still, mut came) = (Vec::new(), Vec::new(), Vec::new());
    let mut stored = HashSet::new();
    for (message, judged) in messages.iter().zip(&judged) {
        let taken = judged.as_ref().map_err(Clone::clone);
        let taken = taken.and_then(|event| Ok((event.id, events[&store::key(event)].clone()?)));
        match taken {
            Err(unfit) => {
                still.push((message.id, unfit.clone()));
                came.push((message.id, Redriven::Quarantined(unfit)));
            }
            Ok((event_id, taken)) => {
                out.push(message.id);
                let one = match taken {
                    Taken::Stored { jobs } if stored.insert(event_id) => Redriven::Stored { event_id, jobs },
                    Taken::Stored { .. } | Taken::Duplicate | Taken::Quarantined { .. } => {
                        Redriven::Duplicate { event_id }
                    }
                };
                came.push((message.id, one));
            }
        }
    }
    step::quarantine::remove(connection, statements, &out).await?;
    step::quarantine::again(connection, statements, &still).await?;
    let of = |id: &QuarantineId| came.iter().find(|(one, _)| one == id).map_or(Redriven::Gone, |(_, one)| one.clone());
    Ok(ids.iter().map(of).collect())
}
