//! Events and handlers may stand inside functions, as tests and examples want it.
#![deny(warnings)]

use outbox::prelude::*;

fn main() {
    #[event("order.placed")]
    struct OrderPlaced;

    #[subscriber(event = "order.placed", name = "inventory.take", idempotent = "does nothing")]
    async fn take(_: OrderPlaced) -> HandlerResult {
        Ok(())
    }

    assert_eq!(OrderPlaced::NAME, "order.placed");
}
