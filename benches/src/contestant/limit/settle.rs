//! settle: the jobs of one claim are done.

use sqlx::PgConnection;
use uuid::Uuid;

/// How many were still held under it.
pub(super) async fn settle(connection: &mut PgConnection, claim: Uuid, jobs: &[Uuid]) -> Result<u64, sqlx::Error> {
    let settled = sqlx::query(include_str!("settle.sql")).bind(jobs).bind(claim).execute(connection).await?;
    Ok(settled.rows_affected())
}
