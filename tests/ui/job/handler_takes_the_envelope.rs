use outbox::prelude::*;

#[job("notifications.send_email")]
struct SendEmail;

#[subscriber(job = "notifications.send_email", idempotent = "does nothing")]
async fn send_email(_: Envelope) -> HandlerResult {
    Ok(())
}

fn main() {}
