use outbox::prelude::*;

#[event("policy.created", version = 3)]
struct PolicyCreatedV3;

#[event("policy.created", version = 2, upcast_from = PolicyCreatedV3)]
struct PolicyCreated;

impl From<PolicyCreatedV3> for PolicyCreated {
    fn from(_: PolicyCreatedV3) -> Self {
        Self
    }
}

fn main() {}
