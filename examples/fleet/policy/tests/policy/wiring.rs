//! Who listens to what, and what is kept.

use policy as _;

#[test]
fn everything_fits_together() {
    outbox_testing::assert_wiring();
}

#[test]
fn stored_names_are_kept() {
    outbox_testing::assert_names_kept(concat!(env!("CARGO_MANIFEST_DIR"), "/outbox.names"));
}

/// The contracts, field by field, as they are on the wire.
#[test]
fn shapes_are_kept() {
    outbox_testing::assert_shapes_kept(concat!(env!("CARGO_MANIFEST_DIR"), "/../contracts/outbox.shapes"));
}
