use outbox::prelude::*;

#[event("order.placed", versoin = 2)]
struct OrderPlaced {
    order_id: String,
}

fn main() {}
