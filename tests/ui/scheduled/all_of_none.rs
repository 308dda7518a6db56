use outbox::prelude::*;

#[scheduled(every = "5m", name = "inventory.scan", catch_up = all(0), overlap = allow)]
async fn scan(_tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
