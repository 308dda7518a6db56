use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

struct Order;

#[subscriber(event = "order.placed", idempotent = "does nothing")]
async fn take(_: Order) -> HandlerResult {
    Ok(())
}

fn main() {}
