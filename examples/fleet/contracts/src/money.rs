use serde::{Deserialize, Serialize};

/// An amount in a currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Money {
    /// In the smallest unit of the currency.
    pub cents: i64,
    /// Three letters, as ISO 4217 has them.
    pub currency: String,
}

impl Money {
    /// Euros, in cents.
    #[must_use]
    pub fn euros(cents: i64) -> Self {
        Self { cents, currency: "EUR".to_owned() }
    }
}
