//! What can happen to a page of a wiki.

use outbox::Changes;
use outbox::prelude::*;

use crate::ids::PageId;

/// A page was written.
#[event("wiki.created")]
#[derive(Debug, Clone, PartialEq)]
pub struct WikiCreated {
    /// Which one.
    #[subject]
    pub page: PageId,
    /// Its title.
    pub page_title: String,
    /// The title of its project.
    pub project_title: String,
    /// Whom it mentions, by user name.
    pub mentions: Vec<String>,
}

/// Its title or text changed.
#[event("wiki.updated")]
#[derive(Debug, Clone, PartialEq)]
pub struct WikiUpdated {
    /// Which one.
    #[subject]
    pub page: PageId,
    /// Its title.
    pub page_title: String,
    /// The title of its project.
    pub project_title: String,
    /// What changed.
    pub changes: Changes,
    /// Whom it mentions that it did not mention before.
    pub mentions: Vec<String>,
}

/// It is gone.
#[event("wiki.deleted")]
#[derive(Debug, Clone, PartialEq)]
pub struct WikiDeleted {
    /// Which one.
    #[subject]
    pub page: PageId,
    /// Its title.
    pub page_title: String,
    /// The title of its project.
    pub project_title: String,
}
