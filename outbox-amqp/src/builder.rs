//! The settings of a transport to RabbitMQ.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use lapin::ConnectionProperties;
use lapin::tcp::OwnedTLSConfig;
use outbox_relay::Link;
use tokio::sync::watch;

use crate::amqp::Amqp;
use crate::dial::Dialling;
use crate::supervise::{Publishing, supervise};
use crate::topology::{Mode, QuorumQueue, Topology};

/// Groups of messages under way at once, each on a channel of its own, where the broker is slow. RabbitMQ allows 2,047 unless it is told otherwise.
const CHANNELS: u16 = 128;

/// Makes an [`Amqp`]; see [`Amqp::builder`].
pub struct AmqpBuilder {
    name: String,
    dialling: Dialling,
    topology: Topology,
    channels: u16,
}

/// A transport that cannot be.
///
/// Shown by `{:?}` it has the same words: a `main` that returns it says what to write.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AmqpError {
    /// The text does not repeat it, because it may hold a password.
    #[error(
        "the URL of the broker cannot be read: write it like `amqp://user:password@broker.internal:5672/%2f`, with `%40` for `@`, `%3A` for `:` \
         and `%2F` for `/` within user, password and virtual host"
    )]
    Url,
    /// They would count for nothing, and what is sent could be read on its way.
    #[error("certificates are set, and the URL is one without TLS: write `amqps://` and the port for it, mostly 5671")]
    NoTls,
}

impl fmt::Debug for AmqpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl AmqpBuilder {
    pub(crate) fn new(url: String, exchange: String) -> Self {
        Self {
            name: "rabbitmq".to_owned(),
            dialling: Dialling::new(url, "outbox-relay"),
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
        self.dialling.properties = properties;
        self
    }

    /// A file of authorities in PEM, beside those of browsers, that the broker's certificate may be signed by. For an `amqps://` URL. It is
    /// read at each connection, so that a change of it needs no restart.
    #[must_use]
    pub fn authorities(mut self, file: impl Into<PathBuf>) -> Self {
        self.dialling.authorities(file.into());
        self
    }

    /// One's own certificate and its key, two files in PEM, for a broker that asks who connects. Read at each connection. To log in by it, end
    /// the URL with `?auth_mechanism=external`.
    #[must_use]
    pub fn certificate(mut self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.dialling.certificate(certificate.into(), key.into());
        self
    }

    /// The client's own settings for an `amqps://` URL, for certificates that are in no file.
    #[must_use]
    pub fn tls(mut self, tls: OwnedTLSConfig) -> Self {
        self.dialling.tls(tls);
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
        let patterns = patterns.into_iter().map(Into::into).collect();
        let queue = QuorumQueue { name: name.into(), patterns, ..QuorumQueue::default() };
        let mut declaring = self.declare();
        if let Mode::Declare(queues) = &mut declaring.topology.mode {
            queues.push(queue);
        }
        declaring
    }

    /// How many channels are opened at most, 128 unless said otherwise: each has a group of at most 32 messages under way. At least one.
    /// A few are enough as long as the broker confirms soon; the others are for queues that are slow. Where the broker, or `channel_max` in the
    /// URL, allows fewer, messages wait for one that is free.
    #[must_use]
    pub fn channels(mut self, channels: u16) -> Self {
        self.channels = channels.max(1);
        self
    }

    /// Begins to connect, and does not wait for it: a service starts while its broker is away. [`Amqp::ready`] waits. Called in a tokio
    /// runtime.
    ///
    /// # Errors
    /// When the URL cannot be read, or is one without TLS although certificates are set.
    pub fn connect(self) -> Result<Amqp, AmqpError> {
        let (sessions, session) = watch::channel::<Option<Arc<_>>>(None);
        let link = Link::new();
        let publishing = Publishing {
            name: self.name.clone(),
            dial: self.dialling.dial()?,
            topology: self.topology,
            channels: self.channels.into(),
        };
        let supervisor = tokio::spawn(supervise(publishing, link.clone(), sessions)).abort_handle();
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
