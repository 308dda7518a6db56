//! The bulk of the load: one event with handlers of the plain kinds.

use outbox::prelude::*;
use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, PgPool};

use super::courier::Deliver;
use super::seen::Seen;

/// What the executions of a message are to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fate {
    /// How many executions fail before one does not.
    pub fails: u32,
    /// How long one takes, in milliseconds.
    pub takes: u64,
}

/// A parcel was sent.
#[event("parcel.sent")]
#[derive(Debug)]
pub struct ParcelSent {
    /// Which one.
    #[subject]
    pub label: String,
    /// What its handlers are to do.
    pub fate: Fate,
}

/// A parcel was handed on.
#[event("parcel.forwarded")]
#[derive(Debug)]
pub struct ParcelForwarded {
    /// Which one.
    #[subject]
    pub label: String,
}

/// The effect of a transactional handler, with the claim that its transaction was begun for.
pub(super) async fn effect(connection: &mut PgConnection, handler: &str, seen: &Seen) -> Result<(), sqlx::Error> {
    let text =
        "insert into chaos.effect (handler, source, claim) values ($1, $2, current_setting('outbox.claim')::uuid)";
    sqlx::query(text).bind(handler).bind(seen.source).execute(connection).await.map(drop)
}

#[subscriber(event = "parcel.sent", name = "parcel.book", max_attempts = 12, backoff = fixed("50ms"))]
async fn book(_: ParcelSent, mut tx: Tx<'_>, seen: Seen) -> Result<(), sqlx::Error> {
    let outcome = effect(&mut tx, "parcel.book", &seen).await;
    seen.ended(outcome)
}

#[subscriber(event = "parcel.sent", name = "parcel.forward", max_attempts = 12, backoff = fixed("50ms"))]
async fn forward(sent: ParcelSent, mut tx: Tx<'_>, seen: Seen) -> HandlerResult {
    let outcome = async {
        effect(&mut tx, "parcel.forward", &seen).await?;
        ParcelForwarded { label: format!("{}/forwarded", sent.label) }.publish(&mut tx).await?;
        Deliver { label: format!("{}/deliver", sent.label) }.enqueue(&mut tx).await?;
        Ok(())
    };
    let outcome = outcome.await;
    seen.ended(outcome)
}

#[subscriber(event = "parcel.sent", name = "parcel.count", idempotent = "one row, whose count is for the checker", max_attempts = 12, backoff = fixed("50ms"), timeout = "10s")]
async fn count(_: ParcelSent, seen: Seen, State(pool): State<PgPool>) -> Result<(), sqlx::Error> {
    let text = "insert into chaos.counted (handler, source, times) values ('parcel.count', $1, 1) \
                on conflict (handler, source) do update set times = counted.times + 1";
    let outcome = sqlx::query(text).bind(seen.source).execute(&pool).await.map(drop);
    seen.ended(outcome)
}

#[subscriber(event = "parcel.sent", name = "outside.announce", max_attempts = 12, backoff = fixed("50ms"))]
async fn announce(_: ParcelSent, _: IdempotencyKey, seen: Seen) -> HandlerResult {
    seen.call_outside();
    seen.ended(Ok(()))
}

#[subscriber(event = "parcel.forwarded", name = "outside.confirm", max_attempts = 12, backoff = fixed("50ms"))]
async fn confirm(_: ParcelForwarded, _: IdempotencyKey, seen: Seen) -> HandlerResult {
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    seen.call_outside();
    seen.ended(Ok(()))
}

#[subscriber(event = "parcel.forwarded", name = "parcel.arrive", max_attempts = 12, backoff = fixed("50ms"))]
async fn arrive(_: ParcelForwarded, mut tx: Tx<'_>, seen: Seen) -> Result<(), sqlx::Error> {
    let outcome = effect(&mut tx, "parcel.arrive", &seen).await;
    seen.ended(outcome)
}
