use outbox::prelude::*;

#[scheduled(every = "5m", name = "inventory.scan")]
async fn scan(_tick: Tick) -> HandlerResult {
    Ok(())
}

fn main() {}
