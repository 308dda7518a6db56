//! Every mutation publishes: a transaction that writes and does not is refused at its commit.

use sqlx::{AssertSqlSafe, PgPool};

/// From now on a transaction that inserts into one of `tables`, updates or deletes there, by whatever way (in bulk, by a cascade, by a
/// trigger), and publishes no event, is refused at its commit. For the tests of an application whose every mutation is to publish what
/// happened: one that forgets it fails whichever test comes by.
///
/// `schema` is the outbox's. The names of tables are as SQL has them, with their schema where they need it. A write that is no event, as
/// of a test's own rows, says why: `set local outbox.publishes_nothing = 'seeds'`. `TRUNCATE` is not seen, nor is which event it was:
/// what a certain code path publishes is for [`published`](crate::published) to tell.
///
/// ```no_run
/// # async fn example(pool: sqlx::PgPool) {
/// outbox_testing::require_events(&pool, "system", &["issues.issue", "issues.comment"]).await;
/// # }
/// ```
///
/// # Panics
/// When the database refuses, as for a table that is not there. It takes the right to create triggers on the tables, and functions in
/// the outbox's schema.
pub async fn require_events(pool: &PgPool, schema: &str, tables: &[&str]) {
    let schema = format!("\"{schema}\".");
    let function = include_str!("emits.sql").replace(":schema.", &schema);
    sqlx::query(AssertSqlSafe(function)).execute(pool).await.expect("the trigger's function is created");
    for table in tables {
        let trigger = format!(
            "create constraint trigger transaction_publishes after insert or update or delete on {table}
             deferrable initially deferred for each row execute function {schema}transaction_publishes()"
        );
        let created = sqlx::query(AssertSqlSafe(trigger)).execute(pool).await;
        created.unwrap_or_else(|error| panic!("no trigger on {table}: {error}"));
    }
}
