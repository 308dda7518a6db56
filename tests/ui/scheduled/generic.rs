use outbox::prelude::*;

#[scheduled(every = "5m", name = "inventory.scan")]
async fn scan<T>(_tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
