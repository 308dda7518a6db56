//! Automation: two handlers of one event, each with a job, attempts and a fate of its own.

mod cart;
mod cross_sell;
mod events;

use orders::OrderPlaced;
use outbox::prelude::*;

pub use cart::{Carts, abandon_cart};
pub use events::{AutomationAlertRaised, AutomationRecommendationGenerated};

/// The tables of this module, in a schema of its own. May be run again.
pub const TABLES: &str = include_str!("../tables.sql");

/// Counts which products were bought together, for "others also bought".
///
/// A count that is raised twice is wrong, so it takes the transaction.
///
/// # Errors
/// When the database does. The job is tried again.
#[subscriber(event = "order.placed")]
pub async fn evaluate_cross_sell_signal(order: OrderPlaced, mut tx: Tx<'_>) -> Result<(), sqlx::Error> {
    let lines = orders::lines(&mut tx, &order.order_id).await?;
    cross_sell::count(&mut tx, lines.iter().map(|line| line.sku.as_str())).await
}

/// Closes the carts that the customer had left behind: no reminder is due any more.
///
/// It needs no transaction of the job's: what is closed stays closed, however often it is said.
///
/// # Errors
/// When the database does. The job is tried again.
#[subscriber(event = "order.placed", idempotent = "a cart that is resolved is left as it is")]
pub async fn resolve_abandoned_cart(order: OrderPlaced, State(carts): State<Carts>) -> Result<(), sqlx::Error> {
    carts.resolve(&order.customer_id, order.placed_at, &order.order_id).await
}
