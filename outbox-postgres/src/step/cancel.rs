//! cancel: an operator ends a job that has not ended by itself.

use outbox_core::JobId;
use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use crate::schema::Schema;

/// Answers whether there was a live job of this id.
pub(crate) async fn cancel(
    connection: &mut PgConnection,
    schema: &Schema,
    job: JobId,
    why: &str,
) -> Result<bool, sqlx::Error> {
    let text = format!("select {}($1, $2)", schema.table("cancel"));
    sqlx::query(AssertSqlSafe(text)).bind(job.as_uuid()).bind(why).fetch_one(connection).await?.try_get(0)
}
