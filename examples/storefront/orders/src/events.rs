//! What can happen to an order.

use chrono::{DateTime, Utc};
use outbox::prelude::*;

use crate::order::Order;

/// A customer's order was accepted.
#[event("order.placed")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderPlaced {
    /// Which order.
    #[subject]
    pub order_id: String,
    /// Who ordered.
    pub customer_id: String,
    /// When, by the shop's clock.
    pub placed_at: DateTime<Utc>,
    /// Three letters, as `USD`.
    pub currency: String,
    /// How many lines it has.
    pub lines: usize,
    /// How many pieces were ordered, all lines together.
    pub units: u64,
    /// What all lines come to after their discounts, without freight.
    pub revenue_cents: i64,
}

impl From<&Order> for OrderPlaced {
    fn from(order: &Order) -> Self {
        Self {
            order_id: order.id.clone(),
            customer_id: order.customer.id.clone(),
            placed_at: order.placed_at,
            currency: order.currency.clone(),
            lines: order.lines.len(),
            units: order.units(),
            revenue_cents: order.revenue_cents(),
        }
    }
}

/// The money for an order has arrived.
#[event("order.paid")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderPaid {
    /// Which order.
    #[subject]
    pub order_id: String,
    /// How much.
    pub amount_cents: i64,
    /// Three letters, as `USD`.
    pub currency: String,
}

/// Everything that was ordered has left the warehouse.
#[event("order.fulfilled")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderFulfilled {
    /// Which order.
    #[subject]
    pub order_id: String,
    /// In how many shipments.
    pub shipments: u32,
}

/// An order was called off before it was fulfilled.
#[event("order.cancelled")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderCancelled {
    /// Which order.
    #[subject]
    pub order_id: String,
    /// Why, in the words of whoever called it off.
    pub reason: String,
}

/// Money for an order went back to the customer.
#[event("order.refunded")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderRefunded {
    /// Which order.
    #[subject]
    pub order_id: String,
    /// How much.
    pub amount_cents: i64,
    /// Three letters, as `USD`.
    pub currency: String,
}
