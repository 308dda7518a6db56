use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[derive(Clone)]
struct Order;

#[subscriber(event = "order.placed", name = "search.index", idempotent = "writes the same document again")]
async fn index(_orders: Batch<Order>) -> HandlerResult {
    Ok(())
}

fn main() {}
