use outbox::prelude::*;

#[derive(serde::Serialize, serde::Deserialize)]
struct OrderId(u64);

#[event("order.placed")]
struct OrderPlaced {
    #[subject]
    order_id: OrderId,
}

fn main() {}
