use outbox::prelude::*;

#[job]
struct SendEmail;

fn main() {}
