use outbox::prelude::*;

#[job("policy.remind", expires = 10)]
struct Remind;

fn main() {}
