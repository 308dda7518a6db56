use outbox::prelude::*;

#[event("policy.created", version = 2, upcast_from = PolicyCreated)]
struct PolicyCreated;

fn main() {}
