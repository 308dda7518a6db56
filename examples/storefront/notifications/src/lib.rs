//! Notifications: confirms each order to its customer, once.

mod events;
mod mailer;

use orders::OrderPlaced;
use outbox::prelude::*;
use sqlx::PgConnection;

pub use events::{NotificationDelivered, NotificationFailed};
pub use mailer::{Letter, Mailer};

/// The tables of this module, in a schema of its own. May be run again.
pub const TABLES: &str = include_str!("../tables.sql");

/// Sends the confirmation of an order, unless it was sent already.
///
/// A letter cannot be rolled back, so two things guard it. The row in `sent_confirmation` commits together with the job:
/// whoever comes second finds it, or waits at its key until the first has committed or died. And where a worker dies
/// between the letter and the commit, the next one repeats its request under the same idempotency key, by which the
/// provider knows the letter.
///
/// # Errors
/// When the database or the mailer does. The job is tried again.
#[subscriber(event = "order.placed", max_attempts = 8, backoff = exponential("1s", max = "1m"), timeout = "2m")]
pub async fn send_order_confirmation(
    order: OrderPlaced,
    mut tx: Tx<'_>,
    State(mailer): State<Mailer>,
    key: IdempotencyKey,
) -> Result<(), sqlx::Error> {
    if !mark_sent(&mut tx, &order).await? {
        return Ok(());
    }
    mailer.send(&Letter::confirmation(&order), &key).await
}

/// Marks an order as confirmed; `false` when it is already.
async fn mark_sent(transaction: &mut PgConnection, order: &OrderPlaced) -> Result<bool, sqlx::Error> {
    let mark = sqlx::query(
        "insert into notifications.sent_confirmation (order_id, recipient) values ($1, $2) on conflict do nothing",
    );
    let marked = mark.bind(&order.order_id).bind(&order.customer_id).execute(transaction).await?;
    Ok(marked.rows_affected() == 1)
}
