//! **publish**: one message, and the acknowledgement of the stream that stored it.

use std::fmt;
use std::time::Duration;

use async_nats::jetstream::context::{Context, PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use outbox_relay::{Confirmed, Link, LinkStatus, NotConfirmed, Outgoing, Transport};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::answer::{not_confirmed, untaken};
use crate::builder::NatsBuilder;
use crate::headers::headers;

/// A connection to NATS that is kept up, over which a [`Relay`](outbox_relay::Relay) publishes to JetStream.
///
/// It connects by itself, in the beginning and again, for as long as it lives. It publishes nothing by itself: only a relay can.
pub struct Nats {
    pub(crate) name: String,
    /// Host and port of the servers.
    pub(crate) servers: String,
    pub(crate) context: Context,
    pub(crate) link: Link,
    pub(crate) supervisor: AbortHandle,
}

impl Nats {
    /// A transport to the servers of this URL, or of several, separated by commas: `nats://10.0.0.1:4222,nats://10.0.0.2:4222`.
    #[must_use]
    pub fn builder(servers: impl Into<String>) -> NatsBuilder {
        NatsBuilder::new(servers.into())
    }

    /// Waits until it is connected and its stream is there, for a program that must not begin without.
    ///
    /// # Errors
    /// When that takes longer than `limit`; the status tells the last error.
    pub async fn ready(&self, limit: Duration) -> Result<(), LinkStatus> {
        timeout(limit, self.link.up()).await.map_err(|_| self.link.status())
    }
}

impl Transport for Nats {
    fn destination(&self) -> &str {
        &self.name
    }

    fn link(&self) -> &Link {
        &self.link
    }

    async fn publish(&self, message: &Outgoing) -> Result<Confirmed, NotConfirmed> {
        // What is given to the client while it is away would be sent when it is back, whatever has become of the job meanwhile.
        if !self.link.is_up() {
            return Err(self.unreachable());
        }
        tokio::select! {
            answer = self.acknowledged(message) => match answer {
                Ok(confirmed) => Ok(confirmed),
                Err(error) if error.kind() == PublishErrorKind::StreamNotFound => {
                    Err(self.untaken(not_confirmed(&error, message.route()), message.route()).await)
                }
                Err(error) => Err(not_confirmed(&error, message.route())),
            },
            // No answer comes over a connection that is lost.
            () = self.link.down() => Err(self.unreachable()),
        }
    }
}

impl Nats {
    async fn acknowledged(&self, message: &Outgoing) -> Result<Confirmed, PublishError> {
        let headers = headers(message).map_err(|error| PublishError::with_source(PublishErrorKind::Other, error))?;
        let publish =
            PublishMessage::build().payload(message.payload().clone()).headers(headers).message_id(message.id_text());
        let ack = self.context.send_publish(message.route().to_owned(), publish).await?.await?;
        Ok(Confirmed::duplicate(ack.duplicate))
    }

    /// Asks JetStream whose fault it is that nobody took a message.
    async fn untaken(&self, unroutable: NotConfirmed, route: &str) -> NotConfirmed {
        let jetstream = self.context.query_account().await.map(drop);
        let stream = match &jetstream {
            Ok(()) => self.context.stream_by_subject(route).await.ok(),
            Err(_) => None,
        };
        let jetstream = jetstream.map_err(|error| error.kind());
        untaken(jetstream.as_ref().copied(), stream.as_deref(), unroutable)
    }

    fn unreachable(&self) -> NotConfirmed {
        let why = self.link.status().last_error;
        NotConfirmed::Unreachable(why.unwrap_or_else(|| format!("there is no connection to {}", self.servers)))
    }
}

/// Without addresses, which may hold a password.
impl fmt::Debug for Nats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nats").field("name", &self.name).field("link", &self.link).finish_non_exhaustive()
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.supervisor.abort();
    }
}
