use outbox::prelude::*;

#[event(order.placed)]
struct OrderPlaced {
    order_id: String,
}

fn main() {}
