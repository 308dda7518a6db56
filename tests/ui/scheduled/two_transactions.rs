use outbox::prelude::*;

#[scheduled(every = "5m", name = "inventory.scan")]
async fn scan(_tx: Tx<'_>, _tick: Tick, _other: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
