//! Analytics: revenue by day.

mod events;

use orders::OrderPlaced;
use outbox::prelude::*;

pub use events::{AnalyticsMetricComputed, HealthScoreUpdated, ReportGenerated};

/// The tables of this module, in a schema of its own. May be run again.
pub const TABLES: &str = include_str!("../tables.sql");

/// Adds an order to the revenue of its day.
///
/// It takes the transaction: the addition and the completion of its job commit together, so each order counts once.
///
/// # Errors
/// When the database does. The job is tried again.
#[subscriber(event = "order.placed")]
pub async fn record_transaction(order: OrderPlaced, mut tx: Tx<'_>) -> Result<(), sqlx::Error> {
    sqlx::query(
        "insert into analytics.daily_revenue as d (day, currency, orders, revenue_cents) values ($1, $2, 1, $3)
         on conflict (day, currency)
         do update set orders = d.orders + 1, revenue_cents = d.revenue_cents + excluded.revenue_cents",
    )
    .bind(order.placed_at.date_naive())
    .bind(&order.currency)
    .bind(order.revenue_cents)
    .execute(&mut *tx)
    .await?;
    Ok(())
}
