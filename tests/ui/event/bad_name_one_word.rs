use outbox::prelude::*;

#[event("placed")]
struct OrderPlaced {
    order_id: String,
}

fn main() {}
