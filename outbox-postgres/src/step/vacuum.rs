//! vacuum: takes the dead rows out of the live jobs' table, before they slow the claim down.

use sqlx::{AssertSqlSafe, Executor as _, PgConnection, Row as _};

use super::Statements;
use crate::schema::Schema;

/// What the statistics say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) dead: i64,
    pub(crate) live: i64,
    /// How many vacuums there have been.
    pub(crate) vacuums: i64,
    /// One is under way, whoever runs it.
    pub(crate) under_way: bool,
    pub(crate) allowed: bool,
}

pub(crate) async fn look(
    connection: &mut PgConnection,
    statements: &Statements,
    schema: &Schema,
) -> Result<Look, sqlx::Error> {
    let row = sqlx::query(statements.vacuum_look.text()).bind(schema.table("job_live")).fetch_one(connection).await?;
    Ok(Look {
        dead: row.try_get(0)?,
        live: row.try_get(1)?,
        vacuums: row.try_get(2)?,
        under_way: row.try_get(3)?,
        allowed: row.try_get(4)?,
    })
}

/// Outside of any transaction. Waits for nobody and keeps nobody waiting: it leaves the table alone when another vacuum is at it, and
/// does not shorten the file, for which it would have to keep everybody out.
pub(crate) async fn vacuum(connection: &mut PgConnection, schema: &Schema) -> Result<(), sqlx::Error> {
    let table = schema.table("job_live");
    let text = format!("vacuum (skip_locked, truncate false, index_cleanup on, parallel 0) {table}");
    connection.execute(sqlx::raw_sql(AssertSqlSafe(text))).await.map(drop)
}
