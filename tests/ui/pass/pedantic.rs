//! Correct code gives no warning, however strict its crate is.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unreachable_pub, unused_qualifications, single_use_lifetimes, clippy::all, clippy::pedantic)]

use outbox::prelude::*;
use outbox::Changes;

/// A customer's order was accepted.
#[event("order.placed")]
#[derive(Debug, Clone)]
pub struct OrderPlaced {
    /// Which order.
    #[subject]
    pub order_id: String,
}

/// A row of which changes are published.
#[derive(Debug, Changes)]
pub struct Customer {
    /// How to call them.
    pub name: String,
    #[changes(secret)]
    password_hash: String,
}

/// Nobody uses it yet.
#[event("order.paid", version = 2)]
enum OrderPaid {
    ByCard {
        #[subject]
        order_id: u64,
    },
    InCash,
}

/// Send one mail.
#[job("notifications.send_email")]
pub struct SendEmail {
    /// To whom.
    pub to: String,
}

/// Public handlers are documented like any function.
///
/// # Errors
/// Never.
#[subscriber(event = "order.placed", name = "inventory.take")]
pub async fn take(order: OrderPlaced, mut tx: Tx<'_>) -> Result<(), sqlx::Error> {
    let take = sqlx::query("update stock set units = units - 1 where order_id = $1").bind(order.order_id);
    take.execute(&mut *tx).await.map(drop)
}

#[subscriber(event = "order.placed", name = "payments.charge", aliases("billing.charge"))]
async fn charge(order: OrderPlaced, key: IdempotencyKey, stop: Cancellation) -> Result<(), Failure> {
    if order.order_id.is_empty() {
        return Err(Failure::discard(format!("{key}: nothing to charge, {stop:?}")));
    }
    Ok(())
}

/// # Errors
/// Whatever the database says.
pub async fn check_out(outbox: &Outbox, order: OrderPlaced) -> HandlerResult {
    let mut tx = outbox.begin().await?;
    order.publish(&mut tx).await?;
    SendEmail { to: "ann@example.org".into() }.enqueue(&mut tx).await?;
    tx.commit().await?;
    Ok(())
}

#[subscriber(
    job = "notifications.send_email",
    aliases("mail.send"),
    idempotent = "does nothing",
    max_attempts = 3,
    backoff = exponential("30s", max = "1h"),
    timeout = "20s",
    priority = 0,
    concurrency = 2,
    when = is_somebody
)]
async fn send_email(_: SendEmail) -> HandlerResult {
    Ok(())
}

fn is_somebody(email: &SendEmail) -> bool {
    !email.to.is_empty()
}

#[subscriber(event = "*", name = "audit.keep", in_transaction, timeout = "2s", when = is_shown)]
async fn keep(_: Envelope, _: Tx<'_>, State(log): State<Log>) -> HandlerResult {
    drop(log);
    Ok(())
}

fn is_shown(event: &Envelope) -> bool {
    event.version == 1
}

#[subscriber(event = "*", name = "audit.append", idempotent = "does nothing")]
async fn append(_: Envelope, State(log): State<Log>, attempt: Attempt) -> HandlerResult {
    let _ = (log, attempt);
    Ok(())
}

#[derive(Clone)]
struct Log;

mod inventory {
    use super::{Envelope, HandlerResult, OrderPaid, subscriber};

    #[subscriber(event = "order.paid", idempotent = "does nothing")]
    async fn count(_: OrderPaid) -> HandlerResult {
        Ok(())
    }

    #[subscriber(event = "order.paid", version = 2, idempotent = "does nothing")]
    async fn count_by_name(_: Envelope) -> HandlerResult {
        Ok(())
    }
}

outbox::modules![inventory];

fn main() {}
