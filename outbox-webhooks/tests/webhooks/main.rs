//! Endpoints, fan-out and deliveries on a real PostgreSQL, against a receiver on loopback.

#![allow(missing_docs, unreachable_pub, missing_debug_implementations, reason = "tests")]
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod crash;
mod deliver;
mod disable;
mod endpoint;
mod fan_out;
mod faults;
mod floor;
mod log;
mod migrate;
mod prune;
mod receiver;
mod redeliver;
mod refused;
mod retry;
mod roles;
mod rotate;
mod tls;

// Their handlers, and the linker's reason to keep them.
outbox::modules![outbox_webhooks];

#[test]
fn wiring() {
    outbox_testing::assert_wiring();
    outbox_testing::assert_names_kept(concat!(env!("CARGO_MANIFEST_DIR"), "/outbox.names"));
}
