use outbox::prelude::*;

#[scheduled(every = "5m", tz = "Europe/Paris", name = "inventory.scan")]
async fn scan(_tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
