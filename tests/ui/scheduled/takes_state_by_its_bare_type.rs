use outbox::prelude::*;

#[derive(Clone)]
pub struct Mailer;

#[scheduled(every = "5m", name = "inventory.scan")]
async fn scan(_mailer: Mailer, _tx: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
