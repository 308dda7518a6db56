use outbox::prelude::*;

#[scheduled(cron = "0 3 30 2 *", tz = "Europe/Paris", name = "inventory.scan")]
async fn scan(_tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
