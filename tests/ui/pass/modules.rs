//! Modules of the same crate beside other crates, and a program that publishes.
#![deny(warnings)]

use outbox::prelude::*;

mod orders {
    use outbox::prelude::*;

    #[event("order.placed")]
    pub(crate) struct OrderPlaced {
        #[subject]
        pub(crate) order_id: u64,
    }

    #[job("orders.print")]
    pub(crate) struct Print {
        pub(crate) order_id: u64,
    }
}

mod printing {
    use super::orders::{OrderPlaced, Print};
    use outbox::prelude::*;

    #[subscriber(event = "order.placed")]
    async fn print_later(order: OrderPlaced, mut tx: Tx<'_>) -> HandlerResult {
        Print { order_id: order.order_id }.enqueue(&mut tx).key(format!("print {}", order.order_id)).await?;
        Ok(())
    }

    #[subscriber(job = "orders.print")]
    async fn print(_: Print, _: IdempotencyKey) -> HandlerResult {
        Ok(())
    }
}

outbox::modules![orders, printing];

async fn check_out(pool: sqlx::PgPool, outbox: Outbox) -> HandlerResult {
    let order = orders::OrderPlaced { order_id: 1 };
    let mut connection = pool.acquire().await?;
    let mut plain = pool.begin().await?;
    let mut waking = outbox.begin().await?;
    order.publish(&mut connection).await?;
    order.publish(&mut plain).await?;
    order.publish(&mut *plain).await?;
    order.publish(&mut waking).key("order 1").actor("ann").await?;
    vec![order].publish_all(&mut waking).await?;
    waking.commit().await?;
    Ok(())
}

fn main() {
    // The future is `Send`, so that it can be spawned.
    fn spawn(_: impl Future<Output = HandlerResult> + Send + 'static) {}
    let _ = |pool, outbox| spawn(check_out(pool, outbox));
    let registry = outbox::Registry::linked();
    assert_eq!(registry.subscribers().len(), 2);
    assert_eq!(registry.faults(&Default::default()), []);
}
