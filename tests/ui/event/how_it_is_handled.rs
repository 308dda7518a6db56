use outbox::prelude::*;

#[event("policy.issued", max_attempts = 5)]
struct PolicyIssued {
    policy_id: i64,
}

fn main() {}
