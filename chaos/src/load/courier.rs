//! A command that a handler enqueues.

use outbox::prelude::*;

use super::parcel::effect;
use super::seen::Seen;

/// Deliver a parcel.
#[job("courier.deliver")]
#[derive(Debug)]
pub struct Deliver {
    /// Which one.
    pub label: String,
}

#[subscriber(job = "courier.deliver", max_attempts = 12, backoff = fixed("50ms"), priority = 0)]
async fn deliver(_: Deliver, mut tx: Tx<'_>, seen: Seen) -> Result<(), sqlx::Error> {
    let outcome = effect(&mut tx, "courier.deliver", &seen).await;
    seen.ended(outcome)
}
