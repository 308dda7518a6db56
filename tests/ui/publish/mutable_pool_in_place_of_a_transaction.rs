use outbox::prelude::*;

#[event("order.placed")]
struct OrderPlaced {
    order_id: String,
}

async fn check_out(mut pool: sqlx::PgPool) -> HandlerResult {
    let order = OrderPlaced { order_id: "o-1".into() };
    order.publish(&mut pool).await?;
    Ok(())
}

fn main() {}
