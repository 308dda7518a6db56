use outbox::prelude::*;

#[scheduled(name = "inventory.scan")]
async fn scan(_tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
