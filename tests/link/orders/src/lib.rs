//! An event, and nothing of who handles it.
use outbox::prelude::*;

#[event("order.placed")]
pub struct OrderPlaced {
    #[subject]
    pub order_id: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    // Depends on this crate, which is so linked twice: as itself and with its tests.
    use inventory as _;

    #[subscriber(event = "order.placed", idempotent = "does nothing")]
    async fn of_the_test(_: OrderPlaced) -> HandlerResult {
        Ok(())
    }

    #[test]
    fn an_event_that_is_linked_twice_is_one() {
        let registry = outbox::Registry::linked();
        assert_eq!(registry.events().len(), 1);
        assert_eq!(registry.faults(&outbox::TypeMap::default()), []);
        assert_eq!(
            registry.stored_names(),
            ["event order.placed v1", "subscriber inventory.take", "subscriber tests.of_the_test"]
        );
    }
}
