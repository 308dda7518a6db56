//! What was published, as values.

use outbox_core::{Event, Payload, version};
use sqlx::{AssertSqlSafe, PgConnection, Row as _};

/// Every event of type `E`, stored as whichever version `E` is read from, that this connection sees, its own uncommitted ones included, in the order of publishing.
///
/// Inside a transaction that is rolled back afterwards, it tells what a code path published without leaving anything.
///
/// # Panics
/// When the events cannot be read, or do not decode as `E`.
pub async fn published<E: Event>(connection: &mut PgConnection, schema: &str) -> Vec<E> {
    let text = format!(
        "select payload::text, event_version from \"{schema}\".event where event_type = $1 and event_version = any($2) order by occurred_at, id"
    );
    let versions: Vec<i32> = E::VERSIONS.iter().map(|version| version.cast_signed()).collect();
    let rows = sqlx::query(AssertSqlSafe(text))
        .bind(E::NAME)
        .bind(versions)
        .fetch_all(connection)
        .await
        .expect("the event table can be read");
    let decode = |row: &sqlx::postgres::PgRow| {
        let payload = Payload::from_json(row.get::<&str, _>(0));
        version::read(row.get::<i32, _>(1).cast_unsigned(), &payload).expect("it decodes as it was published")
    };
    rows.iter().map(decode).collect()
}
