use outbox::prelude::*;

#[event("policy.created")]
struct PolicyCreatedV1 {}

#[event("policy.created", version = 2, also_as = PolicyCreatedV1)]
struct PolicyCreated {}

impl From<&PolicyCreated> for PolicyCreatedV1 {
    fn from(_: &PolicyCreated) -> Self {
        Self {}
    }
}

fn main() {}
