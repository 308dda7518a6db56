//! Handlers that fail as often as their message says.

use std::time::Duration;

use outbox::prelude::*;

use super::parcel::{ParcelSent, effect};
use super::seen::Seen;

#[subscriber(event = "parcel.sent", name = "moody.plain", idempotent = "it does nothing but fail", max_attempts = 12, backoff = exponential("20ms", max = "1s"))]
async fn plain(sent: ParcelSent, seen: Seen) -> HandlerResult {
    tokio::time::sleep(Duration::from_millis(sent.fate.takes)).await;
    let outcome = if seen.attempt <= sent.fate.fails { Err("not in the mood".into()) } else { Ok(()) };
    seen.ended(outcome)
}

/// It has its effect before it fails.
#[subscriber(event = "parcel.sent", name = "moody.in_transaction", max_attempts = 12, backoff = fixed("50ms"))]
async fn in_transaction(sent: ParcelSent, mut tx: Tx<'_>, seen: Seen) -> HandlerResult {
    let outcome = async {
        effect(&mut tx, "moody.in_transaction", &seen).await?;
        if seen.attempt <= sent.fate.fails {
            Err(Failure::retry_after(Duration::from_millis(100), "changed its mind"))?;
        }
        Ok(())
    };
    let outcome = outcome.await;
    seen.ended(outcome)
}
