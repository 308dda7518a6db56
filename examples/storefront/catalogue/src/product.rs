//! What can happen to a product.

use outbox::prelude::*;

/// A product was added to the range.
#[event("product.created")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductCreated {
    /// Which product.
    #[subject]
    pub sku: String,
    /// What it is called.
    pub name: String,
    /// What one costs.
    pub unit_price_cents: i64,
}

/// Something about a product has changed.
#[event("product.updated")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductUpdated {
    /// Which product.
    #[subject]
    pub sku: String,
    /// Names of the fields that changed.
    pub changed: Vec<String>,
}

/// A product was taken out of the range.
#[event("product.deleted")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductDeleted {
    /// Which product.
    #[subject]
    pub sku: String,
}
