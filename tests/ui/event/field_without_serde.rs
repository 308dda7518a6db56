use outbox::prelude::*;

struct Money(u64);

#[event("order.placed")]
struct OrderPlaced {
    total: Money,
}

fn main() {}
