//! Looking at what is no event here, and deciding: once more, or not at all.

use std::collections::BTreeMap;
use std::fmt;

use outbox::ingest::{Quarantined, Redriven, Selection};
use outbox::{OperationError, Outbox, QuarantineId};

use crate::kept::Kept;
use crate::read::read;

/// Most rows of one page.
const PAGE: u32 = 100;

/// The quarantine of an outbox: messages that came over a broker and are no events here.
///
/// ```no_run
/// # async fn example(outbox: outbox::Outbox) -> Result<(), outbox::OperationError> {
/// use outbox_ingest::{Quarantine, QuarantineClass, Selection};
///
/// let quarantine = Quarantine::of(&outbox);
/// let newer = Selection::all().class(QuarantineClass::UnsupportedVersion);
/// for message in quarantine.list(&newer, 20).await? {
///     println!("{} {:?} {}", message.id, message.event_type, message.reason);
/// }
/// // When a binary is deployed that knows the version:
/// for (id, came) in quarantine.redrive_matching(&newer).await? {
///     println!("{id}: {came:?}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Quarantine<'o> {
    outbox: &'o Outbox,
    everything: bool,
}

/// A message in quarantine with its headers and its body.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InQuarantine {
    /// What is known of it.
    pub about: Quarantined,
    /// Its headers, those alone that may be kept, by name; `None` for one that was there and is no text.
    pub headers: BTreeMap<String, Option<String>>,
    /// Its body, byte for byte.
    pub body: Vec<u8>,
}

/// Without headers and body.
impl fmt::Debug for InQuarantine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InQuarantine").field("about", &self.about).finish_non_exhaustive()
    }
}

impl<'o> Quarantine<'o> {
    /// That of this outbox. What is redriven is judged by what its binary knows.
    #[must_use]
    pub fn of(outbox: &'o Outbox) -> Self {
        Self { outbox, everything: false }
    }

    /// As [`IngestBuilder::everything`](crate::IngestBuilder::everything), for what is redriven.
    #[must_use]
    pub fn everything(self, everything: bool) -> Self {
        Self { everything, ..self }
    }

    /// What stands there, oldest first, at most `most`, without headers and bodies.
    ///
    /// # Errors
    /// When the database refuses, or is away.
    pub async fn list(&self, which: &Selection, most: u32) -> Result<Vec<Quarantined>, OperationError> {
        self.outbox.quarantined(which, None, most).await
    }

    /// One message with everything that is kept of it; `None`: it does not stand there.
    ///
    /// # Errors
    /// When the database refuses, or is away.
    pub async fn get(&self, id: QuarantineId) -> Result<Option<InQuarantine>, OperationError> {
        let about = self.outbox.quarantined(&Selection::all().ids([id]), None, 1).await?.pop();
        let (Some(about), Some(message)) = (about, self.outbox.quarantined_message(id).await?) else { return Ok(None) };
        Ok(Some(InQuarantine { about, headers: Kept::from_json(&message.headers).into_map(), body: message.body }))
    }

    /// Has a message go the whole way again, as if it came now. It becomes an event under its own id, with its jobs, and leaves quarantine in
    /// the same commit; or it stays, with the reason of now.
    ///
    /// # Errors
    /// When the database refuses, or is away.
    pub async fn redrive(&self, id: QuarantineId) -> Result<Redriven, OperationError> {
        Ok(self.redrive_many(&[id]).await?.pop().map_or(Redriven::Gone, |(_, came)| came))
    }

    /// The same for many; tells of each what came of it.
    ///
    /// # Errors
    /// When the database refuses, or is away: a part of them is done then. To go on, say it again.
    pub async fn redrive_many(&self, ids: &[QuarantineId]) -> Result<Vec<(QuarantineId, Redriven)>, OperationError> {
        let read = |headers: &str, body: &[u8]| read(&Kept::from_json(headers), body);
        let came = self.outbox.redrive_quarantined(ids, self.everything, &read).await?;
        for one in &came {
            let outcome = match one {
                Redriven::Stored { .. } => "stored",
                Redriven::Duplicate { .. } => "duplicate",
                Redriven::Quarantined(_) => "quarantined",
                _ => "gone",
            };
            metrics::counter!("outbox_quarantine_redriven_total", "outcome" => outcome).increment(1);
        }
        Ok(ids.iter().copied().zip(came).collect())
    }

    /// The same for all that match; tells of each what came of it.
    ///
    /// # Errors
    /// As [`redrive_many`](Self::redrive_many).
    pub async fn redrive_matching(&self, which: &Selection) -> Result<Vec<(QuarantineId, Redriven)>, OperationError> {
        let (mut came, mut behind) = (Vec::new(), None);
        while let Some(ids) = self.page(which, behind).await? {
            behind = ids.last().copied();
            came.extend(self.redrive_many(&ids).await?);
        }
        Ok(came)
    }

    /// Takes a message out for good; `false`: it did not stand there. Delivered again, it stands there again.
    ///
    /// # Errors
    /// When the database refuses, or is away.
    pub async fn discard(&self, id: QuarantineId) -> Result<bool, OperationError> {
        Ok(self.outbox.discard_quarantined(&[id]).await? == [id])
    }

    /// The same for many; tells of each whether it stood there.
    ///
    /// # Errors
    /// As [`discard`](Self::discard).
    pub async fn discard_many(&self, ids: &[QuarantineId]) -> Result<Vec<(QuarantineId, bool)>, OperationError> {
        let gone = self.outbox.discard_quarantined(ids).await?;
        Ok(ids.iter().map(|id| (*id, gone.contains(id))).collect())
    }

    /// The same for all that match.
    ///
    /// # Errors
    /// As [`discard`](Self::discard).
    pub async fn discard_matching(&self, which: &Selection) -> Result<Vec<(QuarantineId, bool)>, OperationError> {
        let (mut gone, mut behind) = (Vec::new(), None);
        while let Some(ids) = self.page(which, behind).await? {
            behind = ids.last().copied();
            gone.extend(self.discard_many(&ids).await?);
        }
        Ok(gone)
    }

    async fn page(
        &self,
        which: &Selection,
        behind: Option<QuarantineId>,
    ) -> Result<Option<Vec<QuarantineId>>, OperationError> {
        let page = self.outbox.quarantined(which, behind, PAGE).await?;
        Ok(Some(page.into_iter().map(|one| one.id).collect::<Vec<_>>()).filter(|ids| !ids.is_empty()))
    }
}
