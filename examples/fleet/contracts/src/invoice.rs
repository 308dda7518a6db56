//! What happens to an invoice. Published by the billing service, and by nobody else.

use outbox::prelude::*;

use crate::Money;

/// A policy was charged for.
#[event("invoice.issued")]
#[derive(Debug, Clone, PartialEq)]
pub struct InvoiceIssued {
    /// Its number.
    #[subject]
    pub invoice: String,
    /// For which policy.
    pub policy_id: String,
    /// How much is due.
    pub amount: Money,
}
