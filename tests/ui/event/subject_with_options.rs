use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    #[subject(type = "order")]
    order_id: String,
}

fn main() {}
