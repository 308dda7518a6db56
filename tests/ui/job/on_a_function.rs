use outbox::prelude::*;

#[job("notifications.send_email")]
async fn send_email() {}

fn main() {}
