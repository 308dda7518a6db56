//! What billing makes of what comes behind `policy.created`.

use contracts::{PolicyAmended, PolicyCancelled, PolicyState, Status};
use outbox::prelude::*;

use crate::projection;

/// Knows the change.
#[subscriber(event = "policy.amended", name = "billing.project_amended")]
async fn project_amended(policy: PolicyAmended, mut tx: Tx<'_>) -> Result<(), sqlx::Error> {
    let PolicyAmended { policy_id, holder, premium, revision } = policy;
    let amended = PolicyState { policy_id, holder, premium, status: Status::Active, revision };
    projection::put(&mut tx, &amended).await
}

/// Knows the end.
#[subscriber(event = "policy.cancelled", name = "billing.project_cancelled")]
async fn project_cancelled(policy: PolicyCancelled, mut tx: Tx<'_>) -> Result<(), sqlx::Error> {
    let PolicyCancelled { policy_id, holder, premium, revision } = policy;
    let cancelled = PolicyState { policy_id, holder, premium, status: Status::Cancelled, revision };
    projection::put(&mut tx, &cancelled).await
}
