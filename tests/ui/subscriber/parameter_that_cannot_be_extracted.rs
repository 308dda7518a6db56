use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(event = "order.placed", idempotent = "does nothing", name = "inventory.take")]
async fn take(_: OrderPlaced, _pool: sqlx::PgPool) -> HandlerResult {
    Ok(())
}

fn main() {}
