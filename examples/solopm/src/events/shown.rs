//! What readers of an event are shown.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::{IssueId, UserId};

/// An issue as it looked when something happened to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownIssue {
    /// Which one.
    pub issue: IssueId,
    /// Its number within the project, shown as `#12`.
    pub number: i32,
    /// Its title.
    pub issue_title: String,
    /// The title of its project.
    pub project_title: String,
    /// Whom it concerned: who reported it and who worked on it.
    pub watchers: Vec<UserId>,
}

/// As a headline has it: `#12 The door sticks (House)`.
impl fmt::Display for ShownIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} {} ({})", self.number, self.issue_title, self.project_title)
    }
}
