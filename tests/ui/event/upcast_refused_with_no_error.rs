use outbox::prelude::*;

#[event("policy.created")]
struct PolicyCreatedV1;

#[event("policy.created", version = 2, upcast_from = PolicyCreatedV1)]
struct PolicyCreated;

impl TryFrom<PolicyCreatedV1> for PolicyCreated {
    type Error = u8;

    fn try_from(_: PolicyCreatedV1) -> Result<Self, u8> {
        Err(1)
    }
}

fn main() {}
