use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(event = "order.placed", name = "inventory.take")]
async fn take(_: OrderPlaced, _first: Tx<'_>, _second: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
