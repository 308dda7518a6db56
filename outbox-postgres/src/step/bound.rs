//! bound and lift: how long each statement of in-transaction subscribers may take, and whether the transaction behind them is the same.

use std::time::Duration;

use sqlx::{PgConnection, Row as _};

use super::{Statements, millis};

/// What was before.
#[derive(Debug)]
pub(crate) struct Bound {
    statement_timeout: String,
    transaction: String,
}

/// Which transaction was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifted {
    /// The one that was bounded.
    Same,
    /// Another one, or none.
    Other,
}

/// Bounds the statements that follow in this transaction.
pub(crate) async fn bound(
    connection: &mut PgConnection,
    statements: &Statements,
    limit: Duration,
) -> Result<Bound, sqlx::Error> {
    let row = sqlx::query(statements.bound.text())
        .bind(millis(limit).clamp(1, i64::from(i32::MAX)))
        .fetch_one(connection)
        .await?;
    Ok(Bound { statement_timeout: row.try_get("own")?, transaction: row.try_get("transaction")? })
}

/// Sets what was before.
pub(crate) async fn lift(
    connection: &mut PgConnection,
    statements: &Statements,
    bound: &Bound,
) -> Result<Lifted, sqlx::Error> {
    let row = sqlx::query(statements.lift.text())
        .bind(&bound.statement_timeout)
        .bind(&bound.transaction)
        .fetch_one(connection)
        .await?;
    Ok(if row.try_get("same")? { Lifted::Same } else { Lifted::Other })
}
