use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(event = "order.placed", idempotent = "does nothing", timeout = "1s", timeout = "2s")]
async fn take(_: OrderPlaced) -> HandlerResult {
    Ok(())
}

fn main() {}
