use outbox::prelude::*;

#[scheduled(every = "1m", name = "billing.collect", unknown = park)]
async fn collect(_tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
