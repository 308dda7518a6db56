use outbox::prelude::*;

#[event("policy.changed")]
struct PolicyChanged;

#[event("policy.created", version = 2, upcast_from = PolicyChanged)]
struct PolicyCreated;

impl From<PolicyChanged> for PolicyCreated {
    fn from(_: PolicyChanged) -> Self {
        Self
    }
}

fn main() {}
