//! As the third release has it, which knows version 3.

use contracts::PolicyCreated;
use outbox::prelude::*;

use super::created;
use crate::{ledger, projection};

pub(super) const MODULE: &str = module_path!();

/// Knows the policy.
#[subscriber(event = "policy.created", name = "billing.project_created")]
async fn project_created(policy: PolicyCreated, mut tx: Tx<'_>) -> Result<(), sqlx::Error> {
    projection::put(&mut tx, &created(policy.policy_id, policy.holder, policy.premium)).await
}

/// Charges for it.
#[subscriber(event = "policy.created", name = "billing.charge")]
async fn charge(policy: PolicyCreated, event: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    ledger::charge(&mut tx, &policy.policy_id, &policy.premium, event.id).await
}
