use outbox::prelude::*;

#[event("policy.issued", serde = none)]
struct PolicyIssued {
    policy_id: i64,
}

fn main() {}
