//! partition: tables for the days to come, made before they are needed.

use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use crate::schema::Schema;

/// Answers how many were made.
pub(crate) async fn partition(connection: &mut PgConnection, schema: &Schema) -> Result<i32, sqlx::Error> {
    let text = format!("select {}()", schema.table("ensure_partitions"));
    sqlx::query(AssertSqlSafe(text)).fetch_one(connection).await?.try_get(0)
}
