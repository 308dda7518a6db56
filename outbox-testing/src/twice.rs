//! Proof that a handler can run twice.

use std::fmt::Debug;

use outbox_core::Event;
use outbox_postgres::Outbox;
use sqlx::{AssertSqlSafe, Row as _};
use uuid::Uuid;

/// What [`deliver_twice`] saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Twice<T> {
    /// The effect behind the first delivery.
    pub once: T,
    /// The effect behind the second one.
    pub twice: T,
}

/// Publishes `event`, runs `handler`'s job, then delivers the same event to it once more, as happens when a process dies
/// between the effect and its record, or by a replay. `effect` reads what the handler did.
///
/// Asserts that the second delivery changed nothing of it. Other subscribers of the event run too.
///
/// ```no_run
/// # use outbox_core as _;
/// # async fn example<E: outbox_core::Event>(outbox: outbox_postgres::Outbox, order: E) {
/// outbox_testing::deliver_twice(&outbox, "notifications.send_order_confirmation", &order, async || {
///     sqlx::query_scalar::<_, i64>("select count(*) from sent_confirmation").fetch_one(outbox.pool()).await.unwrap()
/// })
/// .await;
/// # }
/// ```
///
/// # Panics
/// When the second delivery changed the effect, the handler is not a subscriber of the event, or it failed.
pub async fn deliver_twice<E: Event, T: PartialEq + Debug>(
    outbox: &Outbox,
    handler: &str,
    event: &E,
    mut effect: impl AsyncFnMut() -> T,
) -> Twice<T> {
    let mut transaction = outbox.begin().await.expect("a transaction begins");
    let event_id = outbox.publish(&mut transaction, event).await.expect("the event is published").event_id;
    transaction.commit().await.expect("the transaction commits");
    outbox.drain().await.expect("the jobs run");
    assert_succeeded(outbox, event_id.as_uuid(), handler, 1).await;
    let once = effect().await;
    deliver_again(outbox, event_id.as_uuid(), handler).await;
    outbox.drain().await.expect("the job runs again");
    assert_succeeded(outbox, event_id.as_uuid(), handler, 2).await;
    let twice = effect().await;
    assert_eq!(once, twice, "`{handler}` is not idempotent: delivering the same event again changed its effect");
    Twice { once, twice }
}

async fn assert_succeeded(outbox: &Outbox, event: Uuid, handler: &str, times: i64) {
    let schema = outbox.schema().as_str();
    let text = format!(
        "select count(*) filter (where status = 'succeeded'), max(last_error) from \"{schema}\".job where event_id = $1 and job_type = $2"
    );
    let row = sqlx::query(AssertSqlSafe(text))
        .bind(event)
        .bind(handler)
        .fetch_one(outbox.pool())
        .await
        .expect("jobs can be read");
    let (done, error): (i64, Option<String>) = (row.get(0), row.get(1));
    if done != times {
        let event_handlers = outbox.registry().subscribers().iter().map(|one| one.name).collect::<Vec<_>>().join(", ");
        let error = error.map_or_else(String::new, |error| format!("; its last error: {error}"));
        panic!("`{handler}` has not succeeded for this event{error}. Linked are: {event_handlers}");
    }
}

/// A new job of the same event: to the handler it is what a redelivery is.
async fn deliver_again(outbox: &Outbox, event: Uuid, handler: &str) {
    let schema = outbox.schema().as_str();
    let text = format!(
        "insert into \"{schema}\".job_live (id, event_id, job_type, payload_version, max_attempts, priority)
         select gen_random_uuid(), event_id, job_type, payload_version, max_attempts, priority
         from \"{schema}\".job_succeeded where event_id = $1 and job_type = $2"
    );
    sqlx::query(AssertSqlSafe(text))
        .bind(event)
        .bind(handler)
        .execute(outbox.pool())
        .await
        .expect("the event is delivered again");
}
