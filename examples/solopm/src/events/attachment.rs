//! What can happen to a file at an issue.

use outbox::prelude::*;

use super::ShownIssue;
use crate::ids::AttachmentId;

/// A file was put there.
#[event("attachment.uploaded")]
#[derive(Debug, Clone, PartialEq)]
pub struct AttachmentUploaded {
    /// Which one.
    #[subject]
    pub id: AttachmentId,
    /// The issue that it belongs to, as it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
    /// Its name.
    pub file_name: String,
    /// How long it is.
    pub bytes: usize,
}

/// It is there no more.
#[event("attachment.deleted")]
#[derive(Debug, Clone, PartialEq)]
pub struct AttachmentDeleted {
    /// Which one.
    #[subject]
    pub id: AttachmentId,
    /// The issue that it belongs to, as it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
    /// Its name.
    pub file_name: String,
}
