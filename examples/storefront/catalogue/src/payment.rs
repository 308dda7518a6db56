//! What can happen to a payment.

use outbox::prelude::*;

/// The provider has taken the money.
#[event("payment.succeeded")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentSucceeded {
    /// Which payment.
    #[subject]
    pub payment_id: String,
    /// For which order.
    pub order_id: String,
    /// How much.
    pub amount_cents: i64,
}

/// The provider has refused.
#[event("payment.failed")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentFailed {
    /// Which payment.
    #[subject]
    pub payment_id: String,
    /// For which order.
    pub order_id: String,
    /// What the provider says.
    pub reason: String,
}

/// The provider has given money back.
#[event("payment.refunded")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentRefunded {
    /// Which payment.
    #[subject]
    pub payment_id: String,
    /// For which order.
    pub order_id: String,
    /// How much.
    pub amount_cents: i64,
}
