use outbox::prelude::*;

#[scheduled(every = "5m", name = "inventory.scan")]
async fn scan(_tx: Tx<'_>) -> u32 {
    7
}

fn main() {}
