use outbox::prelude::*;

#[scheduled(every = "5 minutes", name = "inventory.scan")]
async fn scan(_tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
