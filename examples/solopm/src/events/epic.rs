//! What can happen to an epic.

use outbox::Changes;
use outbox::prelude::*;

use crate::ids::EpicId;

/// A project has a new epic.
#[event("epic.created")]
#[derive(Debug, Clone, PartialEq)]
pub struct EpicCreated {
    /// Which one.
    #[subject]
    pub epic: EpicId,
    /// Its title.
    pub epic_title: String,
}

/// Its title changed.
#[event("epic.updated")]
#[derive(Debug, Clone, PartialEq)]
pub struct EpicUpdated {
    /// Which one.
    #[subject]
    pub epic: EpicId,
    /// Its title behind the change.
    pub epic_title: String,
    /// What changed.
    pub changes: Changes,
}

/// It was closed, or opened again.
#[event("epic.status_changed")]
#[derive(Debug, Clone, PartialEq)]
pub struct EpicStatusChanged {
    /// Which one.
    #[subject]
    pub epic: EpicId,
    /// Its title.
    pub epic_title: String,
    /// What changed.
    pub changes: Changes,
}

/// It is gone; its issues stay, without it.
#[event("epic.deleted")]
#[derive(Debug, Clone, PartialEq)]
pub struct EpicDeleted {
    /// Which one.
    #[subject]
    pub epic: EpicId,
    /// Its last title.
    pub epic_title: String,
}
