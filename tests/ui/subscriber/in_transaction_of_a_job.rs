//! A job is run after the commit.
use outbox::prelude::*;

#[job("notifications.send_email")]
struct SendEmail;

#[subscriber(job = "notifications.send_email", in_transaction)]
async fn send(_: SendEmail) -> HandlerResult {
    Ok(())
}

fn main() {}
