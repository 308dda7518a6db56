use outbox::prelude::*;

#[event("policy.issued", expires = "10m")]
struct PolicyIssued {
    policy_id: String,
}

fn main() {}
