use outbox::prelude::*;

#[event("order.placed")]
pub struct OrderPlaced;

#[subscriber(event = "order.placed", name = "inventory.take")]
async fn take(_order: OrderPlaced, _tx: Tx<'_>, _tick: Tick) -> HandlerResult {
    Ok(())
}

fn main() {}
