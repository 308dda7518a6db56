//! What automation finds out.

use outbox::prelude::*;

/// A product is recommended to whoever looks at another one.
#[event("automation.recommendation_generated")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutomationRecommendationGenerated {
    /// The product that is looked at.
    #[subject]
    pub sku: String,
    /// The one that is recommended.
    pub recommended_sku: String,
    /// In how many orders they were bought together.
    pub orders: i64,
}

/// A rule of the merchant's has found something to look at.
#[event("automation.alert_raised")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutomationAlertRaised {
    /// Which rule.
    #[subject]
    pub rule_id: String,
    /// What it found, for people.
    pub message: String,
}
