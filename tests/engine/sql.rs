//! Questions that tests ask the database directly.

use outbox_testing::{Sandbox, eventually};
use sqlx::{AssertSqlSafe, Executor, PgConnection, PgPool};

/// `sql` with the schema's name in the place of `:schema.`.
pub fn filled(sandbox: &Sandbox, sql: &str) -> AssertSqlSafe<String> {
    AssertSqlSafe(sql.replace(":schema.", &format!("\"{}\".", sandbox.schema())))
}

/// The one text that a query answers.
pub async fn text(sandbox: &Sandbox, sql: &str) -> String {
    sqlx::query_scalar(filled(sandbox, sql)).fetch_one(sandbox.pool()).await.unwrap()
}

/// The texts that a query answers.
pub async fn texts(sandbox: &Sandbox, sql: &str) -> Vec<String> {
    sqlx::query_scalar(filled(sandbox, sql)).fetch_all(sandbox.pool()).await.unwrap()
}

/// The one truth value that a query answers.
pub async fn holds(sandbox: &Sandbox, sql: &str) -> bool {
    sqlx::query_scalar(filled(sandbox, sql)).fetch_one(sandbox.pool()).await.unwrap()
}

/// The SQLSTATE with which the database refuses a statement.
pub async fn refusal(sandbox: &Sandbox, sql: &str) -> String {
    code(&sandbox.pool().execute(sqlx::raw_sql(filled(sandbox, sql))).await.expect_err(sql))
}

/// The SQLSTATE of an error.
pub fn code(error: &sqlx::Error) -> String {
    error.as_database_error().unwrap_or_else(|| panic!("{error}")).code().unwrap().into_owned()
}

/// The server's process of a connection.
pub async fn pid(connection: &mut PgConnection) -> i32 {
    sqlx::query_scalar("select pg_backend_pid()").fetch_one(connection).await.unwrap()
}

/// Waits until that process waits for a lock.
pub async fn until_blocked(pool: &PgPool, pid: i32) {
    eventually("the connection waits for a lock", async || {
        let waits: Option<bool> = sqlx::query_scalar(
            "select wait_event_type = 'Lock' and state = 'active' from pg_stat_activity where pid = $1",
        )
        .bind(pid)
        .fetch_optional(pool)
        .await
        .unwrap()
        .flatten();
        waits.unwrap_or(false).then_some(())
    })
    .await;
}

/// That a transaction can still write and commit.
pub async fn assert_usable(mut tx: outbox::OutboxTransaction, sandbox: &Sandbox) {
    let before = sandbox.number("select count(*) from :schema.effect").await;
    sqlx::query(filled(sandbox, "insert into :schema.effect values ('business', 'row')"))
        .execute(&mut *tx)
        .await
        .expect("the transaction is still usable");
    tx.commit().await.expect("and commits");
    assert_eq!(sandbox.number("select count(*) from :schema.effect").await, before + 1);
}
