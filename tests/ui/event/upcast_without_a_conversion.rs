use outbox::prelude::*;

#[event("policy.created")]
struct PolicyCreatedV1;

#[event("policy.created", version = 2, upcast_from = PolicyCreatedV1)]
struct PolicyCreated;

fn main() {}
