//! Which user, which issue: a type each, so that none is taken for another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, sqlx::Type)]
        #[serde(transparent)]
        #[sqlx(transparent)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = std::num::ParseIntError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    )*};
}

ids! {
    /// A person with an account.
    UserId;
    /// A project.
    ProjectId;
    /// A label of a project.
    LabelId;
    /// An epic of a project.
    EpicId;
    /// An issue, whatever its number within its project.
    IssueId;
    /// A comment on an issue.
    CommentId;
    /// A file at an issue.
    AttachmentId;
    /// A web address at an issue.
    LinkId;
    /// A page of a project's wiki.
    PageId;
    /// An access token.
    TokenId;
    /// A line in somebody's list of notifications.
    NotificationId;
}
