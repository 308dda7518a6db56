use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

#[subscriber(event = "order.placed", idempotent = "does nothing", name = "inventory.take")]
async fn take(_: OrderPlaced) -> HandlerResult {
    let shared = std::rc::Rc::new(1);
    std::future::ready(()).await;
    drop(shared);
    Ok(())
}

fn main() {}
