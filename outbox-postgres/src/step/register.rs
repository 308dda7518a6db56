//! register and unregister: the row of a worker, which is its lease.

use std::time::Duration;

use sqlx::PgConnection;
use uuid::Uuid;

use super::Statements;
use crate::atomic::Atomic;

pub(crate) async fn register(
    connection: &mut PgConnection,
    statements: &Statements,
    worker: Uuid,
    name: &str,
    ranges: &[String],
    lease: Duration,
) -> Result<(), sqlx::Error> {
    let lease = i64::try_from(lease.as_millis()).unwrap_or(i64::MAX);
    let query = sqlx::query(statements.register.text());
    query.bind(worker).bind(name).bind(ranges).bind(lease).execute(connection).await.map(drop)
}

pub(crate) async fn unregister(
    connection: &mut PgConnection,
    statements: &Statements,
    worker: Uuid,
) -> Result<(), sqlx::Error> {
    let mut transaction = Atomic::begin(connection).await?;
    // A claim in flight holds the row KEY SHARE. The statement behind this one has a younger snapshot and sees what it claimed.
    sqlx::query(statements.unregister_lock.text()).bind(worker).execute(&mut *transaction).await?;
    sqlx::query(statements.unregister.text()).bind(worker).execute(&mut *transaction).await?;
    transaction.commit().await
}
