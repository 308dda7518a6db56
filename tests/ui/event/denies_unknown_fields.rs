use outbox::prelude::*;

#[event("policy.created")]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PolicyCreated {
    policy_id: u32,
}

fn main() {}
