use outbox::prelude::*;

#[event("order.placed", version = 0)]
struct OrderPlaced {
    order_id: String,
}

fn main() {}
