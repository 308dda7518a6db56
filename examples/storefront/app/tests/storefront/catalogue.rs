//! The names that this shop's modules agree on.

use std::collections::BTreeSet;

use outbox::Registry;

const NAMES: [&str; 31] = [
    "product.created",
    "product.updated",
    "product.deleted",
    "stock.low",
    "stock.out_of_stock",
    "stock.back_in_stock",
    "order.placed",
    "order.paid",
    "order.fulfilled",
    "order.cancelled",
    "order.refunded",
    "customer.registered",
    "wishlist.item_added",
    "payment.succeeded",
    "payment.failed",
    "payment.refunded",
    "shipment.created",
    "shipment.delivered",
    "discount.applied",
    "campaign.sent",
    "notification.delivered",
    "notification.failed",
    "content.published",
    "setting.changed",
    "automation.recommendation_generated",
    "automation.alert_raised",
    "analytics.metric_computed",
    "report.generated",
    "health_score.updated",
    "user.action_recorded",
    "asset.processed",
];

/// S0-40: all 31 names of the catalogue are declared, and no other.
#[test]
fn all_names_are_declared() {
    let registry = Registry::linked();
    let declared: Vec<_> = registry.events().iter().map(|event| event.name).collect();
    assert_eq!(declared.len(), NAMES.len());
    assert_eq!(declared.into_iter().collect::<BTreeSet<_>>(), NAMES.into_iter().collect());
}

/// S0-40: a stored name is said, not made from the Rust type, so that renaming the type changes nothing.
#[test]
fn stored_names_are_kept() {
    outbox_testing::assert_names_kept(concat!(env!("CARGO_MANIFEST_DIR"), "/outbox.names"));
}
