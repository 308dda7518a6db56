use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(job = "order.placed", idempotent = "does nothing")]
async fn send_email(_: OrderPlaced) -> HandlerResult {
    Ok(())
}

fn main() {}
