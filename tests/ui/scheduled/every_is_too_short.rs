use outbox::prelude::*;

#[scheduled(every = "200ms", name = "inventory.scan")]
async fn scan(_tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
