//! **receive**: what a durable pull consumer of JetStream has, for an ingest.

mod builder;
mod consume;
mod consumer;
mod message;

use std::fmt;
use std::time::Duration;

use outbox_ingest::{Delivery, Source};
use outbox_relay::{Link, LinkStatus};
use tokio::sync::{Mutex, mpsc};
use tokio::task::AbortHandle;
use tokio::time::timeout;

pub use self::builder::NatsSourceBuilder;
pub use self::consumer::ConsumerError;

/// A durable consumer of JetStream over a connection that is kept up, of which an [`Ingest`](outbox_ingest::Ingest) takes what comes.
///
/// It connects by itself, in the beginning and again, and consumes again behind each connection, for as long as it lives. What is delivered
/// to it and not taken yet when it is dropped, the server delivers again behind the consumer's `ack_wait`.
pub struct NatsSource {
    name: String,
    link: Link,
    deliveries: Mutex<mpsc::Receiver<Delivery>>,
    consumer: AbortHandle,
}

impl NatsSource {
    /// A source from the servers of this URL, or of several, separated by commas: the consumer `durable` of `stream`. Processes that name the
    /// same consumer share what it has.
    #[must_use]
    pub fn builder(
        servers: impl Into<String>,
        stream: impl Into<String>,
        durable: impl Into<String>,
    ) -> NatsSourceBuilder {
        NatsSourceBuilder::new(servers.into(), stream.into(), durable.into())
    }

    /// Waits until it consumes, for a program that must not begin without.
    ///
    /// # Errors
    /// When that takes longer than `limit`; the status tells the last error.
    pub async fn ready(&self, limit: Duration) -> Result<(), LinkStatus> {
        timeout(limit, self.link.up()).await.map_err(|_| self.link.status())
    }
}

impl Source for NatsSource {
    fn name(&self) -> &str {
        &self.name
    }

    async fn receive(&self, most: usize) -> Vec<Delivery> {
        let mut received = Vec::new();
        if self.deliveries.lock().await.recv_many(&mut received, most.max(1)).await == 0 {
            // Its task ends with it, so this is a runtime that is ending.
            std::future::pending::<()>().await;
        }
        received
    }

    fn link(&self) -> &Link {
        &self.link
    }
}

/// Without addresses, which may hold a password.
impl fmt::Debug for NatsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsSource").field("name", &self.name).field("link", &self.link).finish_non_exhaustive()
    }
}

impl Drop for NatsSource {
    fn drop(&mut self) {
        self.consumer.abort();
    }
}
