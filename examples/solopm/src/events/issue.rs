//! What can happen to an issue.

use outbox::Changes;
use outbox::prelude::*;

use super::ShownIssue;
use crate::ids::{IssueId, UserId};

/// An issue was reported.
#[event("issue.created")]
#[derive(Debug, Clone, PartialEq)]
pub struct IssueCreated {
    /// Which one.
    #[subject]
    pub id: IssueId,
    /// As it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
    /// Whom its description mentions, by user name.
    pub mentions: Vec<String>,
}

/// Its title or description changed.
#[event("issue.updated")]
#[derive(Debug, Clone, PartialEq)]
pub struct IssueUpdated {
    /// Which one.
    #[subject]
    pub id: IssueId,
    /// As it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
    /// What changed.
    pub changes: Changes,
    /// Whom the description mentions that it did not mention before.
    pub mentions: Vec<String>,
}

/// It was taken up, finished, or opened again.
#[event("issue.status_changed")]
#[derive(Debug, Clone, PartialEq)]
pub struct IssueStatusChanged {
    /// Which one.
    #[subject]
    pub id: IssueId,
    /// As it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
    /// What changed.
    pub changes: Changes,
}

/// Somebody is to work on it.
#[event("issue.assigned")]
#[derive(Debug, Clone, PartialEq)]
pub struct IssueAssigned {
    /// Which one.
    #[subject]
    pub id: IssueId,
    /// As it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
    /// Who.
    pub assignee: UserId,
    /// What changed.
    pub changes: Changes,
}

/// Nobody is to work on it any more.
#[event("issue.unassigned")]
#[derive(Debug, Clone, PartialEq)]
pub struct IssueUnassigned {
    /// Which one.
    #[subject]
    pub id: IssueId,
    /// As it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
    /// Who was.
    pub assignee: UserId,
    /// What changed.
    pub changes: Changes,
}

/// It stands elsewhere: in the order, under another epic or another issue, or all of that at once.
#[event("issue.moved")]
#[derive(Debug, Clone, PartialEq)]
pub struct IssueMoved {
    /// Which one.
    #[subject]
    pub id: IssueId,
    /// As it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
    /// What changed.
    pub changes: Changes,
}

/// It waits for another issue.
#[event("issue.blocker_added")]
#[derive(Debug, Clone, PartialEq)]
pub struct IssueBlockerAdded {
    /// Which one.
    #[subject]
    pub id: IssueId,
    /// As it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
    /// The number of the one it waits for.
    pub blocker: i32,
}

/// It does not wait for that one any more.
#[event("issue.blocker_removed")]
#[derive(Debug, Clone, PartialEq)]
pub struct IssueBlockerRemoved {
    /// Which one.
    #[subject]
    pub id: IssueId,
    /// As it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
    /// The number of the one it waited for.
    pub blocker: i32,
}

/// It has a label.
#[event("issue.label_added")]
#[derive(Debug, Clone, PartialEq)]
pub struct IssueLabelAdded {
    /// Which one.
    #[subject]
    pub id: IssueId,
    /// As it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
    /// The label's name.
    pub label: String,
}

/// It has lost a label.
#[event("issue.label_removed")]
#[derive(Debug, Clone, PartialEq)]
pub struct IssueLabelRemoved {
    /// Which one.
    #[subject]
    pub id: IssueId,
    /// As it looked.
    #[serde(flatten)]
    pub shown: ShownIssue,
    /// The label's name.
    pub label: String,
}
