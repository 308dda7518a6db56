use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(event = "*.placed", idempotent = "does nothing")]
async fn take(_: Envelope) -> HandlerResult {
    Ok(())
}

fn main() {}
