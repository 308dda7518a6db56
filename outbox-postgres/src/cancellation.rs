//! The signal that an execution should end early, as a handler's parameter.

use std::ops::Deref;

use outbox_core::{BoxError, Delivery, FromDelivery};
use tokio_util::sync::CancellationToken;

/// Fires when this execution should end early: the process shuts down, or its lease is about to end.
///
/// Handlers that work for long watch it between steps, or `select!` on `cancelled()`. An execution that returns an error
/// after it fired is given back without charging an attempt. One that does not react is dropped when the shutdown budget
/// is used up.
///
/// It dereferences to tokio-util's [`CancellationToken`].
// A newtype, because the trait is of another crate than the token.
#[derive(Debug, Clone, Default)]
pub struct Cancellation(pub(crate) CancellationToken);

impl Cancellation {
    /// A cancellation that nobody fires, for unit tests; `token.cancel()` on it fires it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Deref for Cancellation {
    type Target = CancellationToken;

    fn deref(&self) -> &CancellationToken {
        &self.0
    }
}

impl<'a> FromDelivery<'a> for Cancellation {
    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, BoxError> {
        delivery
            .runtime()
            .get::<Self>()
            // A token of its own: what a handler cancels is its own execution's.
            .map(|Self(stop)| Self(stop.child_token()))
            .ok_or_else(|| "this delivery was not made by a worker, so nothing can cancel it".into())
    }
}
