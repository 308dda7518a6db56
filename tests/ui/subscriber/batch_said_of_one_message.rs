use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(event = "order.placed", batch = 50, name = "search.index", idempotent = "writes the same document again")]
async fn index(_order: OrderPlaced) -> HandlerResult {
    Ok(())
}

fn main() {}
