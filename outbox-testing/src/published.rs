//! What was published, as values.

use outbox_core::{Event, Payload};
use sqlx::{AssertSqlSafe, PgConnection, Row as _};

/// Every event of type `E` that this connection sees, its own uncommitted ones included, in the order of publishing.
///
/// Inside a transaction that is rolled back afterwards, it tells what a code path published without leaving anything.
///
/// # Panics
/// When the events cannot be read, or do not decode as `E`.
pub async fn published<E: Event>(connection: &mut PgConnection, schema: &str) -> Vec<E> {
    let text = format!(
        "select payload::text from \"{schema}\".event where event_type = $1 and event_version = $2 order by occurred_at, id"
    );
    let rows = sqlx::query(AssertSqlSafe(text))
        .bind(E::NAME)
        .bind(i32::try_from(E::VERSION).expect("a version is small"))
        .fetch_all(connection)
        .await
        .expect("the event table can be read");
    let decode = |row: &sqlx::postgres::PgRow| {
        Payload::from_json(row.get::<&str, _>(0)).decode().expect("it decodes as it was published")
    };
    rows.iter().map(decode).collect()
}
