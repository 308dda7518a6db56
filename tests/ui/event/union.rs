use outbox::prelude::*;

#[event("order.placed")]
union OrderPlaced {
    #[subject]
    order: u32,
    invoice: u64,
}

fn main() {}
