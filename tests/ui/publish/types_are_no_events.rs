use outbox::prelude::*;

struct Order;

async fn check_out(tx: &mut sqlx::PgConnection) -> HandlerResult {
    [Order].publish_all(tx).await?;
    Ok(())
}

fn main() {}
