use outbox::prelude::*;

#[event("policy.created.v2")]
struct PolicyCreated;

fn main() {}
