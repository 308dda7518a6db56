//! The mail provider, played by a table.

use std::time::Duration;

use orders::OrderPlaced;
use outbox::IdempotencyKey;
use sqlx::PgPool;

/// A letter to a customer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// The order that it speaks of.
    pub order_id: String,
    /// The customer's number.
    pub recipient: String,
    /// Its first line.
    pub subject: String,
}

impl Letter {
    /// The confirmation of an order.
    #[must_use]
    pub fn confirmation(order: &OrderPlaced) -> Self {
        let (whole, cents) = (order.revenue_cents / 100, order.revenue_cents % 100);
        Self {
            order_id: order.order_id.clone(),
            recipient: order.customer_id.clone(),
            subject: format!(
                "Your order {}: {} pieces, {} {whole}.{cents:02}",
                order.order_id, order.units, order.currency
            ),
        }
    }
}

/// Sends letters as providers do: a request that comes again under a known idempotency key delivers nothing.
#[derive(Debug, Clone)]
pub struct Mailer {
    postbox: PgPool,
    latency: Duration,
}

impl Mailer {
    /// A mailer whose answer takes `latency`. The pool is its own: no handler's transaction reaches it.
    #[must_use]
    pub fn new(postbox: PgPool, latency: Duration) -> Self {
        Self { postbox, latency }
    }

    /// Delivers a letter and answers when the provider does: a caller that dies meanwhile does not know that it is sent.
    ///
    /// # Errors
    /// When the provider cannot be reached.
    pub async fn send(&self, letter: &Letter, key: &IdempotencyKey) -> Result<(), sqlx::Error> {
        sqlx::query(
            "insert into notifications.postbox as p (idempotency_key, order_id, recipient, subject) values ($1, $2, $3, $4)
             on conflict (idempotency_key) do update set requests = p.requests + 1",
        )
        .bind(key.as_str())
        .bind(&letter.order_id)
        .bind(&letter.recipient)
        .bind(&letter.subject)
        .execute(&self.postbox)
        .await?;
        tokio::time::sleep(self.latency).await;
        Ok(())
    }
}
