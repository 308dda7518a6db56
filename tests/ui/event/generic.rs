use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced<T> {
    #[serde(rename = "what")]
    order: T,
}

fn main() {}
