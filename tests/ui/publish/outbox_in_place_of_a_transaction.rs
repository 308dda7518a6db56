use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

async fn check_out(outbox: Outbox) -> HandlerResult {
    let order = OrderPlaced { order_id: "o-1".into() };
    order.publish(&outbox).await?;
    Ok(())
}

fn main() {}
