//! What can happen to the stock of a product.

use outbox::prelude::*;

/// Fewer pieces are left than the product's reorder level.
#[event("stock.low")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StockLow {
    /// Which product.
    #[subject]
    pub sku: String,
    /// How many are left.
    pub on_hand: i64,
    /// Below how many it counts as low.
    pub reorder_level: i64,
}

/// The last piece is gone.
#[event("stock.out_of_stock")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StockOutOfStock {
    /// Which product.
    #[subject]
    pub sku: String,
}

/// A product that was out of stock can be had again.
#[event("stock.back_in_stock")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StockBackInStock {
    /// Which product.
    #[subject]
    pub sku: String,
    /// How many came in.
    pub on_hand: i64,
}
