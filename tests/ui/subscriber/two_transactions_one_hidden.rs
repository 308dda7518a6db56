use outbox::prelude::*;
use outbox::{BoxError, Delivery, FromDelivery, Guard};

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

struct Stock<'a>(Tx<'a>);

impl<'a> FromDelivery<'a> for Stock<'a> {
    const GUARD: Guard = Tx::GUARD;

    fn from_delivery(delivery: &mut Delivery<'a>) -> Result<Self, BoxError> {
        Tx::from_delivery(delivery).map(Self)
    }
}

#[subscriber(event = "order.placed", name = "inventory.take")]
async fn take(_: OrderPlaced, _stock: Stock<'_>, _tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
