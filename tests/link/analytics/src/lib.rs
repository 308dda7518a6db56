//! Handlers in the crate's root, named by the crate.
use orders::OrderPlaced;
use outbox::prelude::*;

#[subscriber(event = "order.placed", idempotent = "the count is written, not added")]
async fn record(_: OrderPlaced) -> HandlerResult {
    Ok(())
}

#[job("analytics.rebuild")]
pub struct Rebuild;

#[subscriber(job = "analytics.rebuild", idempotent = "builds the same again")]
async fn rebuild(_: Rebuild) -> HandlerResult {
    Ok(())
}
