use outbox::prelude::*;

#[job("policy.remind", expires = "0s")]
struct Remind;

fn main() {}
