use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(event = "order.placed", name = "take", idempotent = "", max_attempts = 0)]
fn take() -> HandlerResult {
    Ok(())
}

fn main() {}
