//! The settings of a transport to RabbitMQ.

use std::fmt;
use std::sync::Arc;

use lapin::ConnectionProperties;
use lapin::tcp::OwnedTLSConfig;
use lapin::uri::AMQPUri;
use outbox_relay::Link;
use tokio::sync::watch;

use crate::amqp::Amqp;
use crate::supervise::{Dial, supervise};
use crate::topology::{Mode, QuorumQueue, Topology};

/// Seconds after which a broker that says nothing is asked, when the URL does not say.
const HEARTBEAT: u16 = 10;
/// Messages under way at once, each on a channel of its own. RabbitMQ allows 2,047 unless it is told otherwise.
const CHANNELS: u16 = 128;

/// Makes an [`Amqp`]; see [`Amqp::builder`].
pub struct AmqpBuilder {
    url: String,
    name: String,
    properties: ConnectionProperties,
    tls: OwnedTLSConfig,
    topology: Topology,
    channels: u16,
}

/// A transport that cannot be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AmqpError {
    /// The text does not repeat it, because it may hold a password.
    #[error("the URL of the broker cannot be read: write it like `amqp://user:password@broker.internal:5672/%2f`")]
    Url,
}

impl AmqpBuilder {
    pub(crate) fn new(url: String, exchange: String) -> Self {
        let properties = ConnectionProperties::default().with_connection_name("outbox-relay".into());
        Self {
            url,
            name: "rabbitmq".to_owned(),
            properties,
            tls: OwnedTLSConfig::default(),
            topology: Topology { exchange, mode: Mode::Trust },
            channels: CHANNELS,
        }
    }

    /// What the destination is called in logs and signals, `rabbitmq` unless said otherwise.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The client's own properties, as a name of the connection or another way to authenticate. Leave recovery off: the transport
    /// connects again by itself.
    #[must_use]
    pub fn client(mut self, properties: ConnectionProperties) -> Self {
        self.properties = properties;
        self
    }

    /// Certificates for an `amqps://` URL: the broker's authorities, and one's own.
    #[must_use]
    pub fn tls(mut self, tls: OwnedTLSConfig) -> Self {
        self.tls = tls;
        self
    }

    /// Publishes only while the exchange is there.
    #[must_use]
    pub fn check(mut self) -> Self {
        self.topology.mode = Mode::Check;
        self
    }

    /// Makes the durable topic exchange when it is not there. One of its name and another kind is an error that the link tells.
    #[must_use]
    pub fn declare(mut self) -> Self {
        if !matches!(self.topology.mode, Mode::Declare(_)) {
            self.topology.mode = Mode::Declare(Vec::new());
        }
        self
    }

    /// Makes this quorum queue too, and has it take what these patterns mean: `order.#`. Says [`declare`](Self::declare).
    #[must_use]
    pub fn queue<P: Into<String>>(self, name: impl Into<String>, patterns: impl IntoIterator<Item = P>) -> Self {
        let queue = QuorumQueue { name: name.into(), patterns: patterns.into_iter().map(Into::into).collect() };
        let mut declaring = self.declare();
        if let Mode::Declare(queues) = &mut declaring.topology.mode {
            queues.push(queue);
        }
        declaring
    }

    /// How many channels are opened at most, 128 unless said otherwise: each has one message under way. At least one.
    #[must_use]
    pub fn channels(mut self, channels: u16) -> Self {
        self.channels = channels.max(1);
        self
    }

    /// Begins to connect, and does not wait for it: a service starts while its broker is away. [`Amqp::ready`] waits. Called in a tokio
    /// runtime.
    ///
    /// # Errors
    /// When the URL cannot be read.
    pub fn connect(self) -> Result<Amqp, AmqpError> {
        let mut uri: AMQPUri = self.url.parse().map_err(|_| AmqpError::Url)?;
        uri.query.heartbeat.get_or_insert(HEARTBEAT);
        let (sessions, session) = watch::channel::<Option<Arc<_>>>(None);
        let link = Link::new();
        let dial = Dial {
            name: self.name.clone(),
            uri,
            properties: self.properties,
            tls: self.tls,
            topology: self.topology,
            channels: self.channels.into(),
        };
        let supervisor = tokio::spawn(supervise(dial, link.clone(), sessions)).abort_handle();
        Ok(Amqp { name: self.name, link, session, supervisor })
    }
}

/// Without the URL and the properties, which may hold a password.
impl fmt::Debug for AmqpBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("AmqpBuilder");
        shown.field("name", &self.name).field("topology", &self.topology).finish_non_exhaustive()
    }
}
