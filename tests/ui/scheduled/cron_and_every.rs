use outbox::prelude::*;

#[scheduled(cron = "0 3 * * *", every = "5m", name = "inventory.scan")]
async fn scan(_tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
