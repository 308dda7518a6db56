use outbox::prelude::*;

struct Order;

async fn check_out(tx: &mut sqlx::PgConnection) -> HandlerResult {
    Order.publish(tx).await?;
    Ok(())
}

fn main() {}
