use outbox::prelude::*;

#[job("notifications.send_email")]
struct SendEmail;

#[subscriber(event = "notifications.send_email", idempotent = "does nothing")]
async fn send_email(_: SendEmail) -> HandlerResult {
    Ok(())
}

fn main() {}
