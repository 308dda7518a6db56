//! What can happen to a comment.

use outbox::Changes;
use outbox::prelude::*;

use super::ShownIssue;
use crate::ids::CommentId;

/// Somebody said something about an issue.
#[event("comment.created")]
#[derive(Debug, Clone, PartialEq)]
pub struct CommentCreated {
    /// Which one.
    #[subject]
    pub id: CommentId,
    /// The issue that it stands under, as it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
    /// Whom it mentions, by user name.
    pub mentions: Vec<String>,
}

/// Its words changed.
#[event("comment.updated")]
#[derive(Debug, Clone, PartialEq)]
pub struct CommentUpdated {
    /// Which one.
    #[subject]
    pub id: CommentId,
    /// The issue that it stands under, as it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
    /// What changed.
    pub changes: Changes,
    /// Whom it mentions that it did not mention before.
    pub mentions: Vec<String>,
}

/// What it asked for is settled.
#[event("comment.resolved")]
#[derive(Debug, Clone, PartialEq)]
pub struct CommentResolved {
    /// Which one.
    #[subject]
    pub id: CommentId,
    /// The issue that it stands under, as it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
}

/// It is not settled after all.
#[event("comment.unresolved")]
#[derive(Debug, Clone, PartialEq)]
pub struct CommentUnresolved {
    /// Which one.
    #[subject]
    pub id: CommentId,
    /// The issue that it stands under, as it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
}

/// It is gone.
#[event("comment.deleted")]
#[derive(Debug, Clone, PartialEq)]
pub struct CommentDeleted {
    /// Which one.
    #[subject]
    pub id: CommentId,
    /// The issue that it stands under, as it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
}
