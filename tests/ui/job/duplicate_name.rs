use outbox::prelude::*;

#[job("notifications.send_email")]
struct SendEmail;

#[job("notifications.send_email")]
struct MailOut;

fn main() {}
