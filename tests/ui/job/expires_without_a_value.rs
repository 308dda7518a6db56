use outbox::prelude::*;

#[job("policy.remind", expires)]
struct PolicyIssued {
    policy_id: i64,
}

fn main() {}
