//! What marketing does.

use outbox::prelude::*;

/// A discount code was used.
#[event("discount.applied")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscountApplied {
    /// Which code.
    #[subject]
    pub code: String,
    /// In which order.
    pub order_id: String,
    /// What it took off.
    pub amount_cents: i64,
}

/// A campaign went out to its recipients.
#[event("campaign.sent")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignSent {
    /// Which campaign.
    #[subject]
    pub campaign_id: String,
    /// To how many.
    pub recipients: u64,
}
