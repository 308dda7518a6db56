use outbox::prelude::*;

#[scheduled(cron = "0 3 * * *", tz = "Moon/Base", name = "inventory.scan")]
async fn scan(_tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
