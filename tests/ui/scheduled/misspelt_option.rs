use outbox::prelude::*;

#[scheduled(crom = "0 3 * * *", name = "inventory.scan")]
async fn scan(_tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
