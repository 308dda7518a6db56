use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

mod handlers {
    use outbox::prelude::*;

    #[subscriber(event = "order.placed", idempotent = "does nothing")]
    async fn take(_: super::OrderPlaced) -> HandlerResult {
        Ok(())
    }
}

fn main() {}
