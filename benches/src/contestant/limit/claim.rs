//! claim: a batch of one handler's due jobs.

use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use uuid::Uuid;

/// Rows of job id, event id, attempts and payload.
pub(super) async fn claim(
    connection: &mut PgConnection,
    worker: Uuid,
    claim_id: Uuid,
    handler: &str,
    most: i64,
) -> Result<Vec<PgRow>, sqlx::Error> {
    sqlx::query(include_str!("claim.sql"))
        .bind(worker)
        .bind(claim_id)
        .bind(handler)
        .bind(most)
        .fetch_all(connection)
        .await
}
