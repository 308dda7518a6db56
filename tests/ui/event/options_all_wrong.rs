use outbox::prelude::*;

#[event("policy.issued", owner = policy, version = "2", expires = "10m", upcast_from = "PolicyIssuedV1", serde)]
struct PolicyIssued {
    policy_id: i64,
}

fn main() {}
