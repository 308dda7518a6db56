//! The source: a durable consumer of JetStream, for an ingest.

mod consumer;
mod ingest;
mod origin;

// The clauses of the contract, each a test.
outbox_ingest::contract!(origin::Origin);
