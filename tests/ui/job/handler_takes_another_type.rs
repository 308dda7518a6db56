use outbox::prelude::*;

#[job("notifications.send_email")]
struct SendEmail;

#[job("notifications.send_letter")]
struct SendLetter;

#[subscriber(job = "notifications.send_email", idempotent = "does nothing")]
async fn send_email(_: SendLetter) -> HandlerResult {
    Ok(())
}

fn main() {}
