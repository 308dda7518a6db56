use outbox::prelude::*;

#[scheduled(cron = "0 3 * * *", name = "inventory.scan", tz = Europe/Paris)]
async fn scan(_: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
