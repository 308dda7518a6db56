use outbox::prelude::*;

#[event("OrderPlaced")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(event = "order.placed", idempotent = "only shows that one mistake is one error")]
async fn take(_: OrderPlaced) -> HandlerResult {
    Ok(())
}

fn main() {}
