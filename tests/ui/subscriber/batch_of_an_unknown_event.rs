use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(event = "order.plased", name = "search.index", idempotent = "writes the same document again")]
async fn index(_orders: Batch<Envelope>) -> HandlerResult {
    Ok(())
}

fn main() {}
