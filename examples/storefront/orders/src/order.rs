//! An order as it comes in.

use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::money::{Discount, revenue_cents};
use crate::object;

/// One customer's order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Order {
    /// Its number, which no other order has.
    #[serde(rename = "order_id")]
    pub id: String,
    /// When it was placed.
    pub placed_at: DateTime<Utc>,
    /// Who ordered.
    #[serde(deserialize_with = "object::one")]
    pub customer: Customer,
    /// Three letters, as `USD`.
    pub currency: String,
    /// What was ordered.
    #[serde(deserialize_with = "object::each")]
    pub lines: Vec<Line>,
}

/// Who ordered.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Customer {
    /// The customer's number.
    pub id: String,
}

/// One product of an order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Line {
    /// The product's number.
    pub sku: String,
    /// The product's name.
    pub product: String,
    /// How many.
    pub quantity: u32,
    /// What one costs before the discount.
    pub unit_price_cents: u32,
    /// What is taken off.
    pub discount: Discount,
}

impl Order {
    /// How many pieces, all lines together.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.lines.iter().map(|line| u64::from(line.quantity)).sum()
    }

    /// What all lines come to. Each is rounded by itself, as an invoice shows them.
    #[must_use]
    pub fn revenue_cents(&self) -> i64 {
        self.lines.iter().map(Line::revenue_cents).sum()
    }
}

impl Line {
    /// quantity x unit price x (1 - discount), to the nearest cent.
    #[must_use]
    pub fn revenue_cents(&self) -> i64 {
        revenue_cents(self.quantity, self.unit_price_cents, self.discount)
    }
}
