use outbox::prelude::*;

#[job("notifications.send_email", max_attempts = 3)]
struct SendEmail;

fn main() {}
