//! An ingest, from a source of the tests' own into a real PostgreSQL.

#![allow(missing_docs, unreachable_pub, missing_debug_implementations, reason = "tests")]
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod bad;
mod fake;
mod fan_out;
mod floor;
mod meters;
mod outage;
mod quarantine;
mod replicas;
mod store;

#[test]
fn wiring() {
    outbox_testing::assert_wiring();
}
