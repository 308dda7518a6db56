use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(event = "order.placed", idempotent = "does nothing", max_attempt = 3)]
async fn take(_: OrderPlaced) -> HandlerResult {
    Ok(())
}

fn main() {}
