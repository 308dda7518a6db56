use outbox::prelude::*;

#[event("policy.issued", owner = "")]
struct PolicyIssued {
    policy_id: String,
}

fn main() {}
