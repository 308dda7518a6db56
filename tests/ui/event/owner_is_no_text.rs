use outbox::prelude::*;

#[event("policy.issued", owner = policy)]
struct PolicyIssued {
    policy_id: String,
}

fn main() {}
