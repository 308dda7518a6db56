use outbox::prelude::*;

#[scheduled(every = "5m", name = "low_stock_scan")]
async fn scan(_tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
