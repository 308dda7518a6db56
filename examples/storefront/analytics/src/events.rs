//! What analytics finds out.

use outbox::prelude::*;

/// A figure was computed anew.
#[event("analytics.metric_computed")]
#[derive(Debug, Clone, PartialEq)]
pub struct AnalyticsMetricComputed {
    /// Which figure, as `revenue.daily`.
    #[subject]
    pub metric: String,
    /// Its value.
    pub value: f64,
    /// Its unit, as `cents`.
    pub unit: String,
}

/// A report lies ready.
#[event("report.generated")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportGenerated {
    /// Which report.
    #[subject]
    pub report_id: String,
    /// Where it can be fetched.
    pub location: String,
}

/// How well the shop does has changed.
#[event("health_score.updated")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthScoreUpdated {
    /// Which shop.
    #[subject]
    pub shop_id: String,
    /// From 0 to 100.
    pub score: u8,
    /// What it was before.
    pub previous_score: u8,
}
