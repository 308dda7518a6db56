//! What can happen to an account. None of it belongs to a project.

use outbox::Changes;
use outbox::prelude::*;

use crate::ids::UserId;

/// Somebody has an account.
#[event("user.created")]
#[derive(Debug, Clone, PartialEq)]
pub struct UserCreated {
    /// Which one.
    #[subject]
    pub user: UserId,
    /// The user name.
    pub username: String,
}

/// The name, the mail address or the wish for mail changed.
#[event("user.updated")]
#[derive(Debug, Clone, PartialEq)]
pub struct UserUpdated {
    /// Which one.
    #[subject]
    pub user: UserId,
    /// The user name.
    pub username: String,
    /// What changed.
    pub changes: Changes,
}

/// The account is closed.
#[event("user.deleted")]
#[derive(Debug, Clone, PartialEq)]
pub struct UserDeleted {
    /// Which one.
    #[subject]
    pub user: UserId,
    /// The user name.
    pub username: String,
}
