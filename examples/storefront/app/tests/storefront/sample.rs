//! The orders that are placed when none are given.

use std::process::Command;

use storefront_app::SAMPLE_ORDERS;

/// The committed file is what the committed generator writes, on every machine.
#[test]
fn the_sample_is_what_the_generator_writes() {
    let output = Command::new(env!("CARGO_BIN_EXE_storefront-orders")).output().expect("the generator runs");
    assert!(output.stdout == SAMPLE_ORDERS, "write it anew: storefront-orders > examples/storefront/data/orders.jsonl");
}

#[test]
fn every_line_of_the_sample_is_an_order() {
    let reading = orders::read_orders(SAMPLE_ORDERS);
    assert_eq!(reading.bad_lines, []);
    assert_eq!(reading.orders.len(), 300);
}
