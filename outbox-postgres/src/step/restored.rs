//! restored: a dump that was loaded into another cluster brings numbers of transactions that this one has not reached. The fence
//! would refuse every publisher above READ COMMITTED until it has, and an unfinished backfill would wait for its barrier.
//! Changes nothing where the numbers are this cluster's own.

use sqlx::{AssertSqlSafe, PgConnection};

use super::Statements;
use crate::schema::Schema;

pub(crate) async fn restored(
    connection: &mut PgConnection,
    statements: &Statements,
    schema: &Schema,
) -> Result<(), sqlx::Error> {
    let fence = schema.table("catalogue_fence");
    let take_back = format!(
        "select setval($1::text::regclass, 0) from {fence} where last_value > pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
    );
    sqlx::query(AssertSqlSafe(take_back)).bind(&fence).execute(&mut *connection).await?;
    sqlx::query(statements.restored.text()).execute(connection).await.map(drop)
}
