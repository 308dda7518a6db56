use outbox::prelude::*;

#[job("policy.remind", expires = "ten minutes")]
struct Remind;

fn main() {}
