use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    #[subject]
    order_id: String,
    #[subject]
    customer_id: String,
}

fn main() {}
