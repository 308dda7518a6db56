use outbox::prelude::*;

#[event("order.placed", crate = outbox)]
struct OrderPlaced {
    order_id: String,
}

fn main() {}
