use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(event = "order.placed", name = "billing.charge", unknown = retry, idempotent = "the provider knows the key")]
async fn charge(_: OrderPlaced) -> HandlerResult {
    Ok(())
}

fn main() {}
