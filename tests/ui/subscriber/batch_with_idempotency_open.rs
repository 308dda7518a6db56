use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(event = "order.placed", name = "search.index")]
async fn index(_orders: Batch<OrderPlaced>) -> HandlerResult {
    Ok(())
}

fn main() {}
