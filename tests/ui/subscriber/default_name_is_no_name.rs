#![allow(non_snake_case)]

use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

mod inventory {
    use outbox::prelude::*;

    #[subscriber(event = "order.placed", idempotent = "does nothing")]
    async fn takeStock(_: super::OrderPlaced) -> HandlerResult {
        Ok(())
    }
}

fn main() {}
