use outbox::prelude::*;

#[job("Notifications.SendEmail")]
struct SendEmail;

fn main() {}
