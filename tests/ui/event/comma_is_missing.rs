use outbox::prelude::*;

#[event("policy.issued" owner = "policy")]
struct PolicyIssued {
    policy_id: i64,
}

fn main() {}
