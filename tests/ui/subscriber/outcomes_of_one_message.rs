use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(event = "order.placed", name = "search.index", idempotent = "writes the same document again")]
async fn index(_order: OrderPlaced) -> Vec<Result<(), std::io::Error>> {
    Vec::new()
}

fn main() {}
