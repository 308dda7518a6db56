//! The relay to RabbitMQ and the source of it, against servers that the tests start.

#![allow(missing_docs, unreachable_pub, missing_debug_implementations, reason = "tests")]
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod channels;
mod illegible;
mod ingest;
mod node;
mod outage;
mod relay;
mod server;
mod source;
mod tls;
mod topology;

// The clauses of the contract, each a test.
outbox_relay::contract!(server::Server);

#[test]
fn wiring() {
    outbox_testing::assert_wiring();
}
