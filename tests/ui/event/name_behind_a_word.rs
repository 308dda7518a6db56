use outbox::prelude::*;

#[event(name = "policy.issued")]
struct PolicyIssued {
    policy_id: i64,
}

fn main() {}
