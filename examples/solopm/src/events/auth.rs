//! Who came in, and who did not. None of it belongs to a project, and none of it holds a token.

use outbox::prelude::*;

use crate::ids::{TokenId, UserId};

/// Somebody came in.
#[event("auth.login_succeeded")]
#[derive(Debug, Clone, PartialEq)]
pub struct AuthLoginSucceeded {
    /// Which one.
    #[subject]
    pub user: UserId,
}

/// Somebody was turned away. Nobody knows who it was, so there is neither a subject nor an actor.
#[event("auth.login_failed")]
#[derive(Debug, Clone, PartialEq)]
pub struct AuthLoginFailed {
    /// Why.
    pub reason: String,
}

/// A token was given out.
#[event("auth.token_created")]
#[derive(Debug, Clone, PartialEq)]
pub struct AuthTokenCreated {
    /// Whose.
    #[subject]
    pub user: UserId,
    /// Which one; its text is known to its owner alone.
    pub token: TokenId,
}

/// A token opens nothing any more.
#[event("auth.token_revoked")]
#[derive(Debug, Clone, PartialEq)]
pub struct AuthTokenRevoked {
    /// Whose.
    #[subject]
    pub user: UserId,
    /// Which one.
    pub token: TokenId,
}
