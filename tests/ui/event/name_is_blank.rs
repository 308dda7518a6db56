use outbox::prelude::*;

#[event("")]
struct PolicyIssued {
    policy_id: i64,
}

fn main() {}
