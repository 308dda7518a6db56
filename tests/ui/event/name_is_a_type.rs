use outbox::prelude::*;

#[event(PolicyIssued)]
struct PolicyIssued {
    policy_id: i64,
}

fn main() {}
