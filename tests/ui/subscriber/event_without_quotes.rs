use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(order.placed, idempotent = "does nothing")]
async fn take(_: OrderPlaced) -> HandlerResult {
    Ok(())
}

fn main() {}
