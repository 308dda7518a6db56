//! It runs there, or it does not.
use outbox::prelude::*;

#[subscriber(event = "*", name = "audit.keep", in_transaction = true)]
async fn keep(_: Envelope, _: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
