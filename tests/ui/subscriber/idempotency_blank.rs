use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(event = "order.placed", name = "inventory.take", idempotent = " ")]
async fn take(_: OrderPlaced) -> HandlerResult {
    Ok(())
}

fn main() {}
