//! The settings of a source.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use lapin::ConnectionProperties;
use lapin::tcp::OwnedTLSConfig;
use lapin::types::AMQPValue;
use outbox_relay::Link;

use crate::builder::AmqpError;
use crate::consume::{Consuming, consume};
use crate::dial::Dialling;
use crate::source::{AmqpSource, Inbox};
use crate::topology::QuorumQueue;

/// As many messages as the broker sends ahead of their acknowledgements.
const PREFETCH: u16 = 500;

/// Makes an [`AmqpSource`]; see [`AmqpSource::builder`].
pub struct AmqpSourceBuilder {
    name: Option<String>,
    dialling: Dialling,
    queue: QuorumQueue,
    exchange: Option<String>,
    declares: bool,
    prefetch: u16,
}

impl AmqpSourceBuilder {
    pub(crate) fn new(url: String, queue: String) -> Self {
        Self {
            name: None,
            dialling: Dialling::new(url, "outbox-ingest"),
            queue: QuorumQueue { name: queue, ..QuorumQueue::default() },
            exchange: None,
            declares: false,
            prefetch: PREFETCH,
        }
    }

    /// What the source is called in logs, signals and the quarantine: the queue's name unless said otherwise. The same for all processes that
    /// consume the queue, and for ever.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The client's own properties, as a name of the connection or another way to authenticate. Leave recovery off: the source connects again
    /// by itself.
    #[must_use]
    pub fn client(mut self, properties: ConnectionProperties) -> Self {
        self.dialling.properties = properties;
        self
    }

    /// As of [`AmqpBuilder`](crate::AmqpBuilder::authorities).
    #[must_use]
    pub fn authorities(mut self, file: impl Into<PathBuf>) -> Self {
        self.dialling.authorities(file.into());
        self
    }

    /// As of [`AmqpBuilder`](crate::AmqpBuilder::certificate).
    #[must_use]
    pub fn certificate(mut self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.dialling.certificate(certificate.into(), key.into());
        self
    }

    /// As of [`AmqpBuilder`](crate::AmqpBuilder::tls).
    #[must_use]
    pub fn tls(mut self, tls: OwnedTLSConfig) -> Self {
        self.dialling.tls(tls);
        self
    }

    /// Most messages that the broker sends ahead of their acknowledgements, by `basic.qos`: 500 unless said otherwise, at least one. So many
    /// are in memory at most.
    #[must_use]
    pub fn prefetch(mut self, prefetch: u16) -> Self {
        self.prefetch = prefetch.max(1);
        self
    }

    /// Makes the queue when it is not there, at each connection: durable, on a majority of the nodes. Unless this is said, it must be there. One
    /// of its name and another kind is an error that the link tells.
    #[must_use]
    pub fn declare(mut self) -> Self {
        self.declares = true;
        self
    }

    /// Has the queue take what these patterns mean of a topic exchange, which is made when it is not there: `order.#`. Says
    /// [`declare`](Self::declare).
    #[must_use]
    pub fn bind<P: Into<String>>(mut self, exchange: impl Into<String>, patterns: impl IntoIterator<Item = P>) -> Self {
        self.exchange = Some(exchange.into());
        self.queue.patterns = patterns.into_iter().map(Into::into).collect();
        self.declare()
    }

    /// One more argument of the queue that is declared: `x-delivery-limit`, `x-dead-letter-exchange`. RabbitMQ 4 drops a message of a quorum
    /// queue that was given back twenty times unless it is told otherwise: say `-1`, or where such a message is to go.
    #[must_use]
    pub fn argument(mut self, name: &'static str, value: AMQPValue) -> Self {
        self.queue.arguments.insert(name.into(), value);
        self.declare()
    }

    /// Begins to connect, and does not wait for it: a service starts while its broker is away. [`AmqpSource::ready`] waits. Called in a tokio
    /// runtime.
    ///
    /// # Errors
    /// When the URL cannot be read, or is one without TLS although certificates are set.
    pub fn connect(self) -> Result<AmqpSource, AmqpError> {
        let name = self.name.unwrap_or_else(|| self.queue.name.clone());
        let consuming = Consuming {
            name: name.clone(),
            dial: self.dialling.dial()?,
            queue: self.queue,
            exchange: self.exchange,
            declares: self.declares,
            prefetch: self.prefetch,
        };
        let (link, inbox) = (Link::new(), Arc::<Inbox>::default());
        let supervisor = tokio::spawn(consume(consuming, link.clone(), Arc::clone(&inbox))).abort_handle();
        Ok(AmqpSource { name, link, inbox, supervisor })
    }
}

/// Without the URL and the properties, which may hold a password.
impl fmt::Debug for AmqpSourceBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AmqpSourceBuilder")
            .field("name", &self.name)
            .field("queue", &self.queue)
            .field("exchange", &self.exchange)
            .field("prefetch", &self.prefetch)
            .finish_non_exhaustive()
    }
}
