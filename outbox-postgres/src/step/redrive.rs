//! redrive: a failed job begins a new life.

use outbox_core::JobId;
use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use crate::schema::Schema;

/// Answers whether there was such a job. `force` removes the mark of its effect too.
pub(crate) async fn redrive(
    connection: &mut PgConnection,
    schema: &Schema,
    job: JobId,
    force: bool,
) -> Result<bool, sqlx::Error> {
    let text = format!("select {}($1, $2)", schema.table("redrive"));
    sqlx::query(AssertSqlSafe(text)).bind(job.as_uuid()).bind(force).fetch_one(connection).await?.try_get(0)
}
