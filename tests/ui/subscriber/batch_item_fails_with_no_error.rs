use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

struct Refused;

#[subscriber(event = "order.placed", name = "search.index", idempotent = "writes the same document again")]
async fn index(orders: Batch<OrderPlaced>) -> HandlerResult {
    orders[0].fail(Refused);
    Ok(())
}

fn main() {}
