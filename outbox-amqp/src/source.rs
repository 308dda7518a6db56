//! **receive**: what a queue has, as it comes, unacknowledged.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lapin::message::Delivery as Raw;
use outbox_ingest::{Delivery, Source};
use outbox_relay::{Link, LinkStatus};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::incoming::incoming;
use crate::source_builder::AmqpSourceBuilder;

/// A consumer of one queue of RabbitMQ that is kept up, for an [`Ingest`](outbox_ingest).
///
/// It connects by itself, in the beginning and again, and consumes again behind each connection: when the broker was restarted, when it has
/// cancelled the consumer because the queue was deleted or has moved, when it has closed the channel. It acknowledges nothing by itself.
pub struct AmqpSource {
    pub(crate) name: String,
    pub(crate) link: Link,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) supervisor: AbortHandle,
}

impl AmqpSource {
    /// A source of this queue, at the broker of this URL, `amqp://user:password@broker.internal:5672/%2f`, or `amqps://` for TLS.
    #[must_use]
    pub fn builder(url: impl Into<String>, queue: impl Into<String>) -> AmqpSourceBuilder {
        AmqpSourceBuilder::new(url.into(), queue.into())
    }

    /// Waits until it consumes, for a program that must not begin without.
    ///
    /// # Errors
    /// When that takes longer than `limit`; the status tells the last error.
    pub async fn ready(&self, limit: Duration) -> Result<(), LinkStatus> {
        timeout(limit, self.link.up()).await.map_err(|_| self.link.status())
    }
}

impl Source for AmqpSource {
    fn name(&self) -> &str {
        &self.name
    }

    async fn receive(&self, most: usize) -> Vec<Delivery> {
        self.inbox.take(most.max(1)).await.into_iter().map(incoming).collect()
    }

    fn link(&self) -> &Link {
        &self.link
    }
}

/// Without the URL, which may hold a password.
impl fmt::Debug for AmqpSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AmqpSource").field("name", &self.name).field("link", &self.link).finish_non_exhaustive()
    }
}

impl Drop for AmqpSource {
    fn drop(&mut self) {
        self.supervisor.abort();
    }
}

/// What has come over the present connection and nobody has taken yet: never more than the prefetch.
#[derive(Default)]
pub(crate) struct Inbox {
    waiting: Mutex<VecDeque<Raw>>,
    come: Notify,
}

impl Inbox {
    pub(crate) fn put(&self, delivery: Raw) {
        self.waiting().push_back(delivery);
        self.come.notify_one();
    }

    /// The connection is lost, and the broker delivers again what was not acknowledged.
    pub(crate) fn clear(&self) {
        self.waiting().clear();
    }

    /// Waits for some. Nothing is taken by a call that is dropped.
    async fn take(&self, most: usize) -> Vec<Raw> {
        loop {
            // A word that comes between the look and the wait is kept for the wait.
            let taken = self.take_now(most);
            if !taken.is_empty() {
                return taken;
            }
            self.come.notified().await;
        }
    }

    fn take_now(&self, most: usize) -> Vec<Raw> {
        let mut waiting = self.waiting();
        let count = waiting.len().min(most);
        let taken = waiting.drain(..count).collect();
        if !waiting.is_empty() {
            // For whoever else waits.
            self.come.notify_one();
        }
        taken
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Raw>> {
        // No panic can leave it half written.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
