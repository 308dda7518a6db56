use outbox::prelude::*;

#[event("order.placed")]
fn order_placed() {}

fn main() {}
