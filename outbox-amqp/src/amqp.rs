//! **publish**: one message to the exchange, and the broker's confirm of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use outbox_relay::{Confirmed, Link, LinkStatus, NotConfirmed, Outgoing, Transport};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::builder::AmqpBuilder;
use crate::session::Session;

/// A connection to RabbitMQ that is kept up, over which a [`Relay`](outbox_relay::Relay) publishes to one exchange.
///
/// It connects by itself, in the beginning and again, for as long as it lives. It publishes nothing by itself: only a relay can.
pub struct Amqp {
    pub(crate) name: String,
    pub(crate) link: Link,
    pub(crate) session: watch::Receiver<Option<Arc<Session>>>,
    pub(crate) supervisor: AbortHandle,
}

impl Amqp {
    /// A transport to the broker of this URL, `amqp://user:password@broker.internal:5672/%2f`, or `amqps://` for TLS, and to this topic
    /// exchange.
    #[must_use]
    pub fn builder(url: impl Into<String>, exchange: impl Into<String>) -> AmqpBuilder {
        AmqpBuilder::new(url.into(), exchange.into())
    }

    /// Waits until it is connected and its exchange is there, for a program that must not begin without.
    ///
    /// # Errors
    /// When that takes longer than `limit`; the status tells the last error.
    pub async fn ready(&self, limit: Duration) -> Result<(), LinkStatus> {
        timeout(limit, self.link.up()).await.map_err(|_| self.link.status())
    }

    fn unreachable(&self) -> NotConfirmed {
        let why = self.link.status().last_error;
        NotConfirmed::Unreachable(why.unwrap_or_else(|| "there is no connection".to_owned()))
    }
}

impl Transport for Amqp {
    fn destination(&self) -> &str {
        &self.name
    }

    fn link(&self) -> &Link {
        &self.link
    }

    async fn publish(&self, message: &Outgoing) -> Result<Confirmed, NotConfirmed> {
        let session = self.session.borrow().clone();
        let Some(session) = session.filter(|_| self.link.is_up()) else { return Err(self.unreachable()) };
        tokio::select! {
            answer = session.publish(message) => answer.unwrap_or_else(|| Err(self.unreachable())),
            // No confirm comes over a connection that is lost.
            () = self.link.down() => Err(self.unreachable()),
        }
    }
}

/// Without the URL, which may hold a password.
impl fmt::Debug for Amqp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Amqp").field("name", &self.name).field("link", &self.link).finish_non_exhaustive()
    }
}

impl Drop for Amqp {
    fn drop(&mut self) {
        self.supervisor.abort();
    }
}
