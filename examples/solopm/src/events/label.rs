//! What can happen to a label.

use outbox::Changes;
use outbox::prelude::*;

use crate::ids::LabelId;

/// A project has a new label.
#[event("label.created")]
#[derive(Debug, Clone, PartialEq)]
pub struct LabelCreated {
    /// Which one.
    #[subject]
    pub label: LabelId,
    /// Its name.
    pub name: String,
}

/// Its name changed.
#[event("label.updated")]
#[derive(Debug, Clone, PartialEq)]
pub struct LabelUpdated {
    /// Which one.
    #[subject]
    pub label: LabelId,
    /// Its name behind the change.
    pub name: String,
    /// What changed.
    pub changes: Changes,
}

/// It is gone, from every issue too.
#[event("label.deleted")]
#[derive(Debug, Clone, PartialEq)]
pub struct LabelDeleted {
    /// Which one.
    #[subject]
    pub label: LabelId,
    /// Its last name.
    pub name: String,
}
