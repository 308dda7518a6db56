use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[derive(Clone)]
struct Mailer;

#[subscriber(event = "order.placed", idempotent = "does nothing", name = "inventory.take")]
async fn take(_: OrderPlaced, _mailer: Mailer) -> HandlerResult {
    Ok(())
}

fn main() {}
