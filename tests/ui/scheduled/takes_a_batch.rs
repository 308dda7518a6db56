use outbox::prelude::*;

#[event("order.placed")]
pub struct OrderPlaced;

#[scheduled(every = "5m", name = "inventory.scan")]
async fn scan(_orders: Batch<OrderPlaced>, _tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
