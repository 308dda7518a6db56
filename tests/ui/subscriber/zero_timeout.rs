use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(event = "order.placed", idempotent = "does nothing", name = "inventory.take", timeout = "0s")]
async fn take(_: OrderPlaced) -> HandlerResult {
    Ok(())
}

fn main() {}
