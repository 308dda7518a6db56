use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

async fn check_out(pool: sqlx::PgPool) -> HandlerResult {
    let order = OrderPlaced { order_id: "o-1".into() };
    let tx = pool.begin().await?;
    order.publish(tx).await?;
    Ok(())
}

fn main() {}
