//! A handler that nothing in the program refers to.

mod deep {
    use orders::OrderPlaced;
    use outbox::prelude::*;

    #[subscriber(event = "order.placed", name = "inventory.take")]
    async fn take(_: OrderPlaced, _: IdempotencyKey) -> HandlerResult {
        Ok(())
    }
}
