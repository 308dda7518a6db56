use outbox::prelude::*;

#[job("notifications.send_email")]
struct SendEmail;

#[subscriber(job = "notifications.send_email", version = 2, idempotent = "does nothing")]
async fn send_email(_: SendEmail) -> HandlerResult {
    Ok(())
}

fn main() {}
