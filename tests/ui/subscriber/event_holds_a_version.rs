use outbox::prelude::*;

#[event("policy.created", version = 2)]
struct PolicyCreated;

#[subscriber(event = "policy.created.v2", name = "billing.project", idempotent = "does nothing")]
async fn project(_: PolicyCreated) -> HandlerResult {
    Ok(())
}

fn main() {}
