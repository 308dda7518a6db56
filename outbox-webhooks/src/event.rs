//! What this crate itself has to say.

use chrono::{DateTime, Utc};
use outbox::event;

use crate::id::EndpointId;

/// An endpoint gets nothing any more, because its receiver has failed for too long or says that it is gone. Published in the
/// transaction that disables it, with the endpoint's tenant as its context's, for somebody who tells the owner. It is sent to no
/// endpoint.
///
/// The URL is not in it: its path may be as secret as a password.
#[event("webhook.endpoint.disabled")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointDisabled {
    /// Which one.
    #[subject]
    pub endpoint: EndpointId,
    /// Whose it is.
    pub tenant: String,
    /// What the owner calls it.
    pub description: String,
    /// Why, in words for a person.
    pub reason: String,
    /// When its receiver began to fail.
    pub failing_since: Option<DateTime<Utc>>,
}

/// Whether an event is one of this crate's, which is never sent: the news of a dead endpoint would kill the next.
pub(crate) fn is_ours(name: &str) -> bool {
    name == <EndpointDisabled as outbox::Message>::NAME
}
