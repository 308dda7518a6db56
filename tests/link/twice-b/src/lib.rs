//! Declares what its sibling declares too; neither sees the other.
use outbox::prelude::*;

#[event("stock.moved")]
pub struct StockMoved;

#[subscriber(event = "stock.moved", name = "stock.count", idempotent = "does nothing")]
async fn count(_: StockMoved) -> HandlerResult {
    Ok(())
}
