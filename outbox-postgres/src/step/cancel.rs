//! cancel: an operator ends a job that has not ended by itself.

use outbox_core::JobId;
use sqlx::PgConnection;

use super::Statements;

/// Answers whether there was a live job of this id.
pub(crate) async fn cancel(
    connection: &mut PgConnection,
    statements: &Statements,
    job: JobId,
    why: &str,
) -> Result<bool, sqlx::Error> {
    let query = sqlx::query(statements.cancel.text()).bind(job.as_uuid()).bind(why);
    Ok(query.fetch_optional(connection).await?.is_some())
}
