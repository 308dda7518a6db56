//! What can happen to a web address at an issue.

use outbox::prelude::*;

use super::ShownIssue;
use crate::ids::LinkId;

/// An address was put there.
#[event("link.added")]
#[derive(Debug, Clone, PartialEq)]
pub struct LinkAdded {
    /// Which one.
    #[subject]
    pub id: LinkId,
    /// The issue that it belongs to, as it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
    /// The address.
    pub url: String,
}

/// It is there no more.
#[event("link.removed")]
#[derive(Debug, Clone, PartialEq)]
pub struct LinkRemoved {
    /// Which one.
    #[subject]
    pub id: LinkId,
    /// The issue that it belongs to, as it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
    /// The address.
    pub url: String,
}
