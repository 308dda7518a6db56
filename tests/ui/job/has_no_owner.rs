use outbox::prelude::*;

#[job("policy.remind", owner = "policy")]
struct Remind;

fn main() {}
