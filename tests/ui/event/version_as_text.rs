use outbox::prelude::*;

#[event("policy.issued", version = "1")]
struct PolicyIssued {
    policy_id: i64,
}

fn main() {}
