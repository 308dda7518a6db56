use outbox::prelude::*;

#[event("policy.created")]
struct PolicyCreatedV1;

#[event("policy.created", upcast_from = PolicyCreatedV1)]
struct PolicyCreated;

fn main() {}
