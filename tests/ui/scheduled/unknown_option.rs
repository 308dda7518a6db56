use outbox::prelude::*;

#[scheduled(every = "5m", name = "inventory.scan", queue = "nightly")]
async fn scan(_tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
