//! **ingest**: events that were published elsewhere become events here, under the ids that they have; what is no event here is kept in
//! quarantine.
//!
//! This is the engine's half, without a broker: what the crate `outbox-ingest` hands over is judged and stored in one transaction. Whoever
//! acknowledges does so behind it.

mod arrival;
mod judge;
mod quarantine;
mod store;

use std::fmt;
use std::time::Duration;

pub use self::arrival::{Arrival, QuarantineClass, Taken, Unfit};
pub use self::quarantine::{Quarantined, QuarantinedMessage, Redriven, Selection};
use crate::error::told;
use crate::lane::{Lane, LaneError};
use crate::outbox::Outbox;
use crate::sqlstate::Class;
use crate::step;

/// Longest that storing one batch takes, before its fate counts as unknown.
const STORE_LIMIT: Duration = Duration::from_secs(20);
/// Longest wait for a row, or an id, that another process writes at the same moment.
const LOCK_LIMIT: Duration = Duration::from_secs(5);
/// How often a batch that met another one is tried again at once.
const CONFLICTS: u32 = 3;

/// The way in for events of one source, over a connection of its own.
pub struct Ingestion {
    way: Way,
    lane: Lane,
}

/// Where from, where to, and what is taken.
#[derive(Debug, Clone)]
struct Way {
    outbox: Outbox,
    source: String,
    everything: bool,
}

/// Nothing of the batch is stored, or nobody knows: storing it again is harmless.
#[derive(Debug, thiserror::Error)]
#[error("the messages were not stored: {text}")]
pub struct IngestError {
    text: String,
    class: Class,
}

impl IngestError {
    fn of(error: &LaneError) -> Self {
        Self { text: told(error), class: error.class() }
    }
}

impl Outbox {
    /// A way in for events of `source`, as it is called in their metadata (`origin`) and in quarantine.
    #[must_use]
    pub fn ingestion(&self, source: impl Into<String>) -> Ingestion {
        let lane = self.lane("ingest").with_lock_limit(LOCK_LIMIT);
        Ingestion { way: Way { outbox: self.clone(), source: source.into(), everything: false }, lane }
    }
}

impl Ingestion {
    /// Whether events of a name that nobody here declares, and nobody receives but by `*`, are taken. Not unless said: a relay or a log of
    /// everything says nothing about which names there are.
    #[must_use]
    pub fn everything(mut self, everything: bool) -> Self {
        self.way.everything = everything;
        self
    }

    /// Stores what fits as events with their jobs, and the rest in quarantine, in one transaction; answers for each what it was taken as.
    /// When this has answered, all of it is durable, and may be acknowledged.
    ///
    /// An event whose id is there already is left as it is. One that the database refuses by itself is quarantined by itself.
    ///
    /// # Errors
    /// When the database is away, or keeps the batch waiting. Then nothing is stored, or the answer was lost.
    ///
    /// # Cancel safety
    /// Dropped in the middle, the batch is stored or not. To store it again is harmless.
    pub async fn store(&mut self, arrivals: &[Arrival<'_>]) -> Result<Vec<Taken>, IngestError> {
        let mut taken = Vec::with_capacity(arrivals.len());
        // By halves where one of them is refused: the others are stored.
        let mut parts = vec![arrivals];
        while let Some(part) = parts.pop() {
            match self.store_together(part).await {
                Ok(some) => taken.extend(some),
                Err(error) if error.class() == Class::Refused && part.len() > 1 => {
                    let (front, back) = part.split_at(part.len() / 2);
                    parts.extend([back, front]);
                }
                Err(error) if error.class() == Class::Refused && part[0].read.is_ok() => {
                    let refused = Unfit::refused(&part[0], &error);
                    taken
                        .extend(self.store_together(&[part[0].unfit(refused)]).await.map_err(|e| IngestError::of(&e))?);
                }
                Err(error) => return Err(IngestError::of(&error)),
            }
        }
        Ok(taken)
    }

    async fn store_together(&mut self, arrivals: &[Arrival<'_>]) -> Result<Vec<Taken>, LaneError> {
        let mut conflicts = 0;
        loop {
            match store::store(&mut self.lane, &self.way, arrivals).await {
                Err(error) if error.class() == Class::Conflict && conflicts < CONFLICTS => conflicts += 1,
                stored => return stored,
            }
        }
    }

    /// Whether a batch could be stored: the database answers, the tables are there, this role may write to them, and nobody keeps others
    /// from it. Stores nothing.
    ///
    /// # Errors
    /// When it could not.
    pub async fn probe(&mut self) -> Result<(), IngestError> {
        let outbox = &self.way.outbox;
        let probe = async |connection: &mut sqlx::PgConnection| {
            step::ingest::probe(connection, outbox).await?;
            step::quarantine::probe(connection, outbox.statements()).await
        };
        self.lane.run(STORE_LIMIT, probe).await.map_err(|error| IngestError::of(&error))
    }

    /// Closes the connection, politely and not for long.
    pub async fn close(self) {
        self.lane.close().await;
    }
}

/// Without the connection's options, which may hold a password.
impl fmt::Debug for Ingestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ingestion").field("way", &self.way).finish_non_exhaustive()
    }
}
