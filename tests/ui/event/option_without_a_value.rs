use outbox::prelude::*;

#[event("policy.issued", owner)]
struct PolicyIssued {
    policy_id: i64,
}

fn main() {}
