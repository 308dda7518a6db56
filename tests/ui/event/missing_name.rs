use outbox::prelude::*;

#[event]
struct OrderPlaced {
    order_id: String,
}

fn main() {}
