//! retire and activate: an operator's word on a subscription, which stays until the other word is said.

use sqlx::{AssertSqlSafe, PgConnection};

use crate::schema::Schema;

/// No event fans out to it any more. Jobs that it has are still run.
pub(crate) async fn retire(connection: &mut PgConnection, schema: &Schema, handler: &str) -> Result<bool, sqlx::Error> {
    let table = schema.table("subscription");
    let text =
        format!("update {table} set retired_at = coalesce(retired_at, statement_timestamp()) where handler = $1");
    Ok(sqlx::query(AssertSqlSafe(text)).bind(handler).execute(connection).await?.rows_affected() > 0)
}

/// Events fan out to it again, from this moment on: a new activation, backfilled anew.
pub(crate) async fn activate(
    connection: &mut PgConnection,
    schema: &Schema,
    handler: &str,
) -> Result<bool, sqlx::Error> {
    let table = schema.table("subscription");
    let text = format!(
        "update {table} set retired_at = null, activated_at = statement_timestamp(), activation_snapshot = pg_current_snapshot(),
         barrier_xid = null, barrier_holders = null, backfilled_to = null, backfilled_at = null
         where handler = $1 and retired_at is not null"
    );
    if sqlx::query(AssertSqlSafe(text)).bind(handler).execute(&mut *connection).await?.rows_affected() > 0 {
        return Ok(true);
    }
    let known = format!("select from {table} where handler = $1");
    Ok(sqlx::query(AssertSqlSafe(known)).bind(handler).fetch_optional(connection).await?.is_some())
}
