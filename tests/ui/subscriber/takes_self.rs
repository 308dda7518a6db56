use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

struct Inventory;

impl Inventory {
    #[subscriber(event = "order.placed", name = "inventory.take", idempotent = "does nothing")]
    async fn take(&self, _: OrderPlaced) -> HandlerResult {
        Ok(())
    }
}

fn main() {}
