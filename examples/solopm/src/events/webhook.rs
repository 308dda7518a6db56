//! The life of an incoming webhook: received, then processed or failed.

use outbox::prelude::*;
use uuid::Uuid;

/// One came, and its signature is right.
#[event("webhook.received")]
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookReceived {
    /// The sender's id of it.
    #[subject]
    pub id: String,
    /// Where it came in.
    pub hook: Uuid,
    /// Who sent it, as the address names them.
    pub source: String,
}

/// What it asked for is done.
#[event("webhook.processed")]
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookProcessed {
    /// The sender's id of it.
    #[subject]
    pub id: String,
    /// Who sent it, as the address names them.
    pub source: String,
    /// What that was.
    pub outcome: String,
}

/// What it asked for could not be done, and nothing of it was.
#[event("webhook.failed")]
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookFailed {
    /// The sender's id of it.
    #[subject]
    pub id: String,
    /// Who sent it, as the address names them.
    pub source: String,
    /// Why.
    pub reason: String,
}
