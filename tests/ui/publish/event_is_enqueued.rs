use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

async fn check_out(tx: &mut sqlx::PgConnection) -> HandlerResult {
    let order = OrderPlaced { order_id: "o-1".into() };
    order.enqueue(tx).await?;
    Ok(())
}

fn main() {}
