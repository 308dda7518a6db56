//! What a broker's client must be able to do.

use std::future::Future;

use outbox_relay::Link;

use crate::delivery::Delivery;

/// One queue or one durable consumer: a connection to a broker that is kept up, and what comes over it.
///
/// It connects by itself, in the beginning and again, for as long as it lives, and consumes again behind each connection. It neither
/// acknowledges nor decodes anything by itself: that is the ingest's, which alone can get at a delivery's acknowledgement.
pub trait Source: Send + Sync + 'static {
    /// What it is called in logs, signals and the quarantine, where it is a part of the key: the same for all processes that consume the same
    /// queue, and the same for ever. Without credentials.
    fn name(&self) -> &str;

    /// Waits for at least one message, and brings those that are there, at most `most`. Each is held by this process until it is
    /// acknowledged, given back or dropped.
    ///
    /// It never fails: while the broker is away it waits, and connects again. It may ask the broker for more than `most` ahead of time, by a
    /// bound of its own.
    ///
    /// # Cancel safety
    /// What has come and is not handed out yet is handed out by the next call, or comes again from the broker.
    fn receive(&self, most: usize) -> impl Future<Output = Vec<Delivery>> + Send;

    /// Whether it consumes, and since when not. Up means that messages come: a connection without a consumer is not up.
    fn link(&self) -> &Link;
}
