use outbox::prelude::*;

#[scheduled(every = "5m", name = "inventory.scan")]
fn scan(_tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
