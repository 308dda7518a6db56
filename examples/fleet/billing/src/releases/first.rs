//! As the first release has it, which knows version 1.

use contracts::{Money, PolicyCreatedV1};
use outbox::prelude::*;

use super::created;
use crate::{ledger, projection};

pub(super) const MODULE: &str = module_path!();

/// Knows the policy.
#[subscriber(event = "policy.created", name = "billing.project_created")]
async fn project_created(policy: PolicyCreatedV1, mut tx: Tx<'_>) -> Result<(), sqlx::Error> {
    projection::put(&mut tx, &created(policy.policy_id, policy.holder, Money::euros(policy.premium_cents))).await
}

/// Charges for it.
#[subscriber(event = "policy.created", name = "billing.charge")]
async fn charge(policy: PolicyCreatedV1, event: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    ledger::charge(&mut tx, &policy.policy_id, &Money::euros(policy.premium_cents), event.id).await
}
