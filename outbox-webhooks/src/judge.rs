//! **judge**: whether an endpoint whose delivery has just failed for good gets any more.

use chrono::{DateTime, Utc};
use outbox::{BoxError, Publish as _};
use sqlx::{PgPool, Postgres, Row as _, Transaction};
use tokio::time::timeout;

use crate::event::EndpointDisabled;
use crate::id::{DeliveryId, EndpointId};
use crate::record::{LIMIT, RecordError};
use crate::webhooks::{Patience, Webhooks};

/// How an endpoint does.
struct Standing {
    tenant: String,
    description: String,
    failing_since: Option<DateTime<Utc>>,
    /// In seconds, by the database's clock.
    failing_for: i64,
    /// Deliveries that failed for good since, this one included.
    dead: i64,
}

impl Webhooks {
    /// Disables the endpoint when it is gone or has failed for too long, and says so by an event in the same transaction.
    pub(crate) async fn judge(
        &self,
        endpoint: EndpointId,
        delivery: DeliveryId,
        is_gone: bool,
    ) -> Result<(), BoxError> {
        timeout(LIMIT, self.judged(endpoint, delivery, is_gone))
            .await
            .unwrap_or_else(|_| Err(RecordError::Deadline.into()))
    }

    async fn judged(&self, endpoint: EndpointId, delivery: DeliveryId, is_gone: bool) -> Result<(), BoxError> {
        let mut transaction = begin(self.pool()).await?;
        let patience = self.inner().patience;
        let row = sqlx::query(self.statements().judge.text())
            .bind(endpoint.as_uuid())
            .bind(delivery.as_uuid())
            .bind(i64::from(patience.dead_deliveries))
            .fetch_optional(&mut *transaction)
            .await?;
        // Disabled already, or deleted: somebody else was first.
        let Some(row) = row else { return Ok(()) };
        let standing = Standing {
            tenant: row.try_get("tenant")?,
            description: row.try_get("description")?,
            failing_since: row.try_get("failing_since")?,
            failing_for: row.try_get("failing_for")?,
            dead: row.try_get("dead")?,
        };
        let Some(reason) = reason(&standing, patience, is_gone) else { return Ok(()) };
        let disable = sqlx::query(self.statements().disable.text()).bind(endpoint.as_uuid()).bind(&reason);
        if disable.execute(&mut *transaction).await?.rows_affected() == 0 {
            return Ok(());
        }
        tracing::warn!(%endpoint, reason, "a webhook endpoint is disabled");
        let Standing { tenant, description, failing_since, .. } = standing;
        let news = EndpointDisabled { endpoint, tenant: tenant.clone(), description, reason, failing_since };
        news.publish(&mut transaction).tenant(tenant).await?;
        Ok(transaction.commit().await?)
    }
}

/// Why it gets no more; `None` when it does.
fn reason(standing: &Standing, patience: Patience, is_gone: bool) -> Option<String> {
    let hours = standing.failing_for / 3_600;
    if is_gone {
        Some("the receiver answered 410, gone".to_owned())
    } else if u64::try_from(standing.failing_for).is_ok_and(|seconds| seconds >= patience.failing_for.as_secs()) {
        Some(format!("nothing has been delivered for {hours} hours"))
    } else if standing.dead >= i64::from(patience.dead_deliveries) {
        Some(format!("{} deliveries have failed for good, and none has succeeded since the first", standing.dead))
    } else {
        None
    }
}

/// Dropped while BEGIN is under way, sqlx's own future would give the connection back with the transaction open.
async fn begin(pool: &PgPool) -> Result<Transaction<'static, Postgres>, BoxError> {
    let pool = pool.clone();
    Ok(tokio::spawn(async move { pool.begin().await }).await??)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_endpoint_is_given_up_at_its_limits_and_not_before() {
        let patience = Patience { failing_for: Duration::from_hours(120), dead_deliveries: 3 };
        let judged = |failing_for, dead, is_gone| {
            let standing =
                Standing { tenant: String::new(), description: String::new(), failing_since: None, failing_for, dead };
            reason(&standing, patience, is_gone)
        };
        assert_eq!(judged(120 * 3_600 - 1, 2, false), None);
        assert_eq!(judged(120 * 3_600, 1, false).unwrap(), "nothing has been delivered for 120 hours");
        assert!(judged(0, 3, false).unwrap().starts_with("3 deliveries have failed"));
        assert!(judged(0, 1, true).unwrap().contains("410"));
    }
}
