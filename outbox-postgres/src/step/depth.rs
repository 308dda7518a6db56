//! depth: how much waits and how much failed, for gauges.

use sqlx::{PgConnection, Row as _};

use super::Statements;

/// Of one handler.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Depth {
    pub(crate) handler: String,
    /// Jobs that are due, counted up to 10,000 a version.
    pub(crate) due: u64,
    /// Since when the oldest of them is, in seconds of the server's clock.
    pub(crate) oldest: Option<f64>,
    /// Failed jobs among the newest 10,000 of all handlers.
    pub(crate) failed: u64,
}

/// Those of every handler that has any.
pub(crate) async fn depth(connection: &mut PgConnection, statements: &Statements) -> Result<Vec<Depth>, sqlx::Error> {
    let rows = sqlx::query(statements.depth.text()).fetch_all(connection).await?;
    let read = |row: &sqlx::postgres::PgRow| {
        Ok(Depth {
            handler: row.try_get("handler")?,
            due: row.try_get::<i64, _>("due")?.unsigned_abs(),
            oldest: row.try_get("oldest")?,
            failed: row.try_get::<i64, _>("failed")?.unsigned_abs(),
        })
    };
    rows.iter().map(read).collect()
}
