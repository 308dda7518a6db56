use outbox::prelude::*;

#[event("policy.created")]
struct PolicyCreatedV1 {}

#[event("policy.created", version = 2, upcast_from = PolicyCreatedV1, also_as = PolicyCreatedV1)]
struct PolicyCreated {}

impl From<PolicyCreatedV1> for PolicyCreated {
    fn from(_: PolicyCreatedV1) -> Self {
        Self {}
    }
}

fn main() {}
