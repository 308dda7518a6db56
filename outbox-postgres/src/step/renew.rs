//! renew: the lease of this worker, and so of every job that it holds.

use std::time::Duration;

use sqlx::PgConnection;
use uuid::Uuid;

use super::Statements;

/// Answers whether the lease is still ours.
pub(crate) async fn renew(
    connection: &mut PgConnection,
    statements: &Statements,
    worker: Uuid,
    lease: Duration,
) -> Result<bool, sqlx::Error> {
    let lease = i64::try_from(lease.as_millis()).unwrap_or(i64::MAX);
    let renewed = sqlx::query(statements.renew.text()).bind(worker).bind(lease).fetch_optional(connection).await?;
    Ok(renewed.is_some())
}
