use outbox::prelude::*;

#[event("order.placed", version = 2, version = 3)]
struct OrderPlaced {
    order_id: String,
}

fn main() {}
