use outbox::prelude::*;

#[scheduled(cron = "0 9 * * MONDAY", tz = "Europe/Paris", name = "inventory.scan")]
async fn scan(_tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
