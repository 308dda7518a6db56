//! From an event to the document that it concerns.

use outbox::prelude::*;
use serde::{Deserialize, Serialize};

use super::{DocId, Shelf};
use crate::events::{
    CommentCreated, CommentDeleted, CommentUpdated, EpicCreated, EpicDeleted, EpicUpdated, IssueCreated, IssueUpdated,
    ProjectCreated, ProjectDeleted, ProjectUpdated, WikiCreated, WikiDeleted, WikiUpdated,
};

/// Have the index hold a document as it is.
#[job("search.search_sync")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchSync {
    /// Which document.
    #[serde(flatten)]
    pub doc: DocId,
    /// What the event did to it.
    pub op: Op,
}

/// What became of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// It is new or reads otherwise.
    Upsert,
    /// It is gone.
    Delete,
}

/// Enqueues the job in the event's transaction: it costs one row there, and the search is one step nearer.
///
/// # Errors
/// When the job cannot be enqueued; the event is not published then.
#[subscriber(event = "*", name = "search.route", in_transaction)]
pub async fn route(event: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    if let Some(sync) = SearchSync::of(&event) {
        sync.enqueue(&mut tx).await?;
    }
    Ok(())
}

impl SearchSync {
    /// What an event means for the search; `None` for the many that mean nothing, and for those that are not known here.
    #[must_use]
    pub fn of(event: &Envelope) -> Option<Self> {
        let (index, op) = match event.name.as_str() {
            ProjectCreated::NAME | ProjectUpdated::NAME => (Shelf::Projects, Op::Upsert),
            ProjectDeleted::NAME => (Shelf::Projects, Op::Delete),
            EpicCreated::NAME | EpicUpdated::NAME => (Shelf::Epics, Op::Upsert),
            EpicDeleted::NAME => (Shelf::Epics, Op::Delete),
            IssueCreated::NAME | IssueUpdated::NAME => (Shelf::Issues, Op::Upsert),
            CommentCreated::NAME | CommentUpdated::NAME => (Shelf::Comments, Op::Upsert),
            CommentDeleted::NAME => (Shelf::Comments, Op::Delete),
            WikiCreated::NAME | WikiUpdated::NAME => (Shelf::Pages, Op::Upsert),
            WikiDeleted::NAME => (Shelf::Pages, Op::Delete),
            _ => return None,
        };
        let id = event.subject.id.as_deref()?.parse().ok()?;
        Some(Self { doc: DocId { index, id }, op })
    }
}
