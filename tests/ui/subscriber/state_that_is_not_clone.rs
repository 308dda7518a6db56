use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

struct Mailer;

#[subscriber(event = "order.placed", idempotent = "does nothing", name = "inventory.take")]
async fn take(_: OrderPlaced, _: State<Mailer>) -> HandlerResult {
    Ok(())
}

fn main() {}
