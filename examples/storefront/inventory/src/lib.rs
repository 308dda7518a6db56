//! Inventory: takes what was ordered from stock.

mod events;
mod stock;

use orders::OrderPlaced;
use outbox::prelude::*;

pub use events::{StockBackInStock, StockLow, StockOutOfStock};
pub use stock::{receive, take};

/// The tables of this module, in a schema of its own. May be run again.
pub const TABLES: &str = include_str!("../tables.sql");

/// Why stock was not taken. The job is tried again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StockError {
    /// The order has no rows.
    #[error("order `{0}` has no lines")]
    NoLines(String),
    /// The database refused a statement.
    #[error("the stock could not be changed")]
    Database(#[from] sqlx::Error),
}

/// Takes an order's lines from stock.
///
/// It takes the transaction, so the decrement and the completion of its job commit together: however often the job is
/// tried, the stock is taken once. What to take it reads from the order's rows, within the same transaction.
///
/// # Errors
/// See [`StockError`].
#[subscriber(event = "order.placed")]
pub async fn finalize_stock_decrement(order: OrderPlaced, mut tx: Tx<'_>) -> Result<(), StockError> {
    let lines = orders::lines(&mut tx, &order.order_id).await?;
    if lines.is_empty() {
        return Err(StockError::NoLines(order.order_id));
    }
    take(&mut tx, lines.iter().map(|line| (line.sku.as_str(), line.quantity))).await?;
    Ok(())
}
