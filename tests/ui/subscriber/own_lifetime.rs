use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

struct Borrowed<'a>(&'a str);

#[subscriber(event = "order.placed", idempotent = "does nothing", name = "inventory.take")]
async fn take<'a>(_: OrderPlaced, _: Borrowed<'a>) -> HandlerResult {
    Ok(())
}

fn main() {}
