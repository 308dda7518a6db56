//! The projection, compared with its authority.

use std::time::Duration;

use contracts::PolicyState;
use outbox::{BoxError, Drift, Entries, Outbox, Reconcile, Reconciled, Reconciliation};
use sqlx::PgPool;

use crate::authority::Authority;
use crate::projection;

/// Policies, here and there.
#[derive(Debug, Clone)]
pub struct Policies {
    /// Where the projection is.
    pub pool: PgPool,
    /// Who knows better.
    pub authority: Authority,
}

/// Goes over all policies and mends what has drifted; in one replica at a time, whichever begins first. A difference counts when it has stood for
/// `settle`: longer than a fact is under way.
///
/// # Errors
/// When another replica is at it, or one of the sides does not answer.
pub async fn reconcile(outbox: &Outbox, policies: &Policies, settle: Duration) -> Result<Reconciled, BoxError> {
    let lease = outbox.leases().lease("billing.reconcile");
    lease.try_run(async |_held| Reconciliation::of(policies).settle(settle).repair().run().await).await?
}

impl Reconcile for Policies {
    type Key = String;
    type Entry = PolicyState;
    const NAME: &'static str = "billing.policies";

    async fn authority(&self, after: Option<&String>, most: usize) -> Result<Entries<String, PolicyState>, BoxError> {
        Ok(by_key(self.authority.page(after.map(String::as_str), most).await?))
    }

    async fn projection(&self, after: Option<&String>, most: usize) -> Result<Entries<String, PolicyState>, BoxError> {
        Ok(by_key(projection::page(&self.pool, after.map(String::as_str), most).await?))
    }

    async fn authority_of(&self, key: &String) -> Result<Option<PolicyState>, BoxError> {
        self.authority.find(key).await
    }

    async fn projection_of(&self, key: &String) -> Result<Option<PolicyState>, BoxError> {
        Ok(projection::find(&self.pool, key).await?)
    }

    /// Only where the projection still is as it was seen: what a fact has written meanwhile is the later.
    async fn repair(&self, drift: &Drift<String, PolicyState>) -> Result<(), BoxError> {
        let mut tx = self.pool.begin().await?;
        if let Some(seen) = &drift.projection {
            let taken = sqlx::query(include_str!("reconcile_take.sql")).bind(&seen.policy_id).bind(&seen.holder);
            let taken = taken.bind(seen.premium.cents).bind(&seen.premium.currency);
            let taken = taken.bind(seen.status.as_str()).bind(seen.revision);
            if taken.execute(&mut *tx).await?.rows_affected() == 0 {
                return Err("a fact came between: the next run looks at it again".into());
            }
        }
        if let Some(truth) = &drift.authority {
            projection::put(&mut tx, truth).await?;
        }
        Ok(tx.commit().await?)
    }
}

fn by_key(policies: Vec<PolicyState>) -> Entries<String, PolicyState> {
    policies.into_iter().map(|policy| (policy.policy_id.clone(), policy)).collect()
}
