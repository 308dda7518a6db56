//! Who listens to what, and who knows whom.

use outbox::Registry;
use storefront_app as _;

use storefront_testing::SUBSCRIBERS;

/// The manifest and every source file of the module that publishes.
const ORDERS: [&str; 6] = [
    include_str!("../../../orders/Cargo.toml"),
    include_str!("../../../orders/src/lib.rs"),
    include_str!("../../../orders/src/events.rs"),
    include_str!("../../../orders/src/order.rs"),
    include_str!("../../../orders/src/place.rs"),
    include_str!("../../../orders/tables.sql"),
];

/// S0-15: the module that publishes names none of those that listen: neither as a dependency nor in a line of code.
#[test]
fn orders_names_no_consumer() {
    let consumers = ["inventory", "notifications", "automation", "analytics", "storefront_app", "storefront-app"];
    for text in ORDERS {
        for consumer in consumers {
            assert!(!text.contains(consumer), "`{consumer}` is named in:\n{text}");
        }
    }
}

/// The registry that the worked example asks for.
#[test]
fn order_placed_has_its_five_subscribers() {
    let registry = Registry::linked();
    let handlers: Vec<_> = registry.handlers_of("order.placed").map(|handler| handler.name).collect();
    assert_eq!(handlers, SUBSCRIBERS);
    assert_eq!(registry.subscribers().len(), 5);
}

#[test]
fn everything_fits_together() {
    outbox_testing::assert_wiring();
}
