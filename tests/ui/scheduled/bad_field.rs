use outbox::prelude::*;

#[scheduled(cron = "0 25 * * *", name = "inventory.scan")]
async fn scan(_tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
