use outbox::prelude::*;

#[scheduled(event = "order.placed", cron = "0 3 * * *", name = "inventory.scan")]
async fn scan(_: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
