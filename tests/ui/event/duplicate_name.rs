use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced;

#[event("order.placed")]
struct OrderTaken;

fn main() {}
