use outbox::prelude::*;

#[event("policy.issued", owner = "Policy Service")]
struct PolicyIssued {
    policy_id: String,
}

fn main() {}
