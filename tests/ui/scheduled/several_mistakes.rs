use outbox::prelude::*;

#[scheduled(cron = "0 25 * * *", tz = "Paris", name = "scan", max_attempts = 0)]
async fn scan(_tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
