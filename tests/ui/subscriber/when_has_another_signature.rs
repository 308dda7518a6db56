use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

fn is_large(units: &u32) -> bool {
    *units > 10
}

#[subscriber(event = "order.placed", idempotent = "does nothing", name = "inventory.take", when = is_large)]
async fn take(_: OrderPlaced) -> HandlerResult {
    Ok(())
}

fn main() {}
