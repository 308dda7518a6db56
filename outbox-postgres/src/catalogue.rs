//! Who receives an event, as the catalogue said it last. It holds for as long as the catalogue is the same edition, which each publish
//! compares in its own statement.

use std::sync::{Arc, PoisonError, RwLock};

use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::PublishError;
use crate::hashed::HashMap;
use crate::publish::Batch;
use crate::step;
use crate::step::publish::Answer;

/// The subscribers of an event, of this binary and of others, by one edition of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    /// None in a catalogue that has lost it, which is read each time then.
    pub(crate) edition: Option<Uuid>,
    pub(crate) handlers: Vec<String>,
    pub(crate) any_version: Vec<bool>,
    pub(crate) max_attempts: Vec<i32>,
    pub(crate) priorities: Vec<i16>,
    /// In-transaction subscribers that are retired, by all their names, with blanks between.
    pub(crate) retired: Option<String>,
}

impl Known {
    pub(crate) fn nobody(edition: Option<Uuid>, retired: Option<String>) -> Self {
        let (handlers, any_version, max_attempts, priorities) = Default::default();
        Self { edition, handlers, any_version, max_attempts, priorities, retired }
    }
}

/// By the event's name.
#[derive(Debug, Default)]
pub(crate) struct Catalogue(RwLock<HashMap<&'static str, Arc<Known>>>);

impl Catalogue {
    fn of(&self, event: &str) -> Option<Arc<Known>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(event).map(Arc::clone)
    }

    fn keep(&self, event: &'static str, known: Known) {
        if known.edition.is_none() {
            return;
        }
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(event, Arc::new(known));
    }
}

/// Publishes by what is known, and by the catalogue itself where that has changed, or where nothing is known yet. What the catalogue
/// then says is known from now on.
pub(crate) async fn publish(
    connection: &mut PgConnection,
    batch: &Batch,
    metadata: &str,
) -> Result<Vec<Answer>, PublishError> {
    let catalogue = &batch.outbox.inner().catalogue;
    if let [row] = batch.rows.as_slice()
        && row.key.is_none()
        && let Some(known) = catalogue.of(batch.name)
        && let Some(answer) = step::publish_known::publish_known(connection, batch, row, metadata, &known).await?
    {
        return Ok(vec![answer]);
    }
    let (answers, known) = step::publish::publish(connection, batch, metadata).await?;
    if let Some(known) = known {
        catalogue.keep(batch.name, known);
    }
    Ok(answers)
}
