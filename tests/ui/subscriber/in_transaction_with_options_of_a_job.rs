//! What runs inside of the publish has no job, so nothing can be said of one.
use outbox::prelude::*;

#[subscriber(
    event = "*",
    name = "audit.keep",
    in_transaction,
    idempotent = "the row has a key",
    max_attempts = 3,
    backoff = exponential("1s", max = "1m"),
    priority = 0,
    concurrency = 2,
    timeout = "1s"
)]
async fn keep(_: Envelope, _: Tx<'_>) -> HandlerResult {
    Ok(())
}

fn main() {}
