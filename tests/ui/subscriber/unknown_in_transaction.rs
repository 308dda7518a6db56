use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(event = "order.placed", name = "billing.charge", unknown = park, in_transaction)]
async fn charge(_: OrderPlaced, _tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
