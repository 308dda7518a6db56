//! What can happen to a message to a customer.

use outbox::prelude::*;

/// A message reached its recipient.
#[event("notification.delivered")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationDelivered {
    /// Which message.
    #[subject]
    pub notification_id: String,
    /// How: `mail`, `push`.
    pub channel: String,
}

/// A message could not be delivered, and is not tried any more.
#[event("notification.failed")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationFailed {
    /// Which message.
    #[subject]
    pub notification_id: String,
    /// How: `mail`, `push`.
    pub channel: String,
    /// What the provider says.
    pub reason: String,
}
