use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(event = "order.placed", name = "inventory.take")]
async fn take(_: OrderPlaced, _tx: &mut sqlx::PgConnection) -> HandlerResult {
    Ok(())
}

fn main() {}
