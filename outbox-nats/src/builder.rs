//! The settings of a transport to NATS.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::ConnectOptions;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::stream::Config;
use outbox_relay::Link;
use tokio::sync::mpsc::unbounded_channel;

use crate::answer::ACK_TIMEOUT;
use crate::certificates::Certificates;
use crate::inquiry::{Inquiry, Of};
use crate::nats::Nats;
use crate::servers;
use crate::supervise::Supervised;
use crate::topology::Topology;

/// How long a server that says nothing is believed to be there, twice over.
pub(crate) const PING: Duration = Duration::from_secs(10);
/// As many acknowledgements as may be waited for, also of messages that the relay has given up: more than any window.
const MOST_WAITED_FOR: usize = 100_000;

/// Makes a [`Nats`]; see [`Nats::builder`].
pub struct NatsBuilder {
    servers: String,
    name: String,
    client: ConnectOptions,
    topology: Topology,
    certificates: Certificates,
}

/// A transport that cannot be. Its `Debug` is its text, which is what a `main` that returns it prints.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum NatsError {
    /// The URL, a certificate or a key. The text holds neither.
    #[error("no connection to NATS can be made with these settings: {0}")]
    Settings(String),
}

impl NatsBuilder {
    pub(crate) fn new(servers: String) -> Self {
        let client = ConnectOptions::new().name("outbox-relay").ping_interval(PING);
        Self {
            servers,
            name: "nats".to_owned(),
            client,
            topology: Topology::default(),
            certificates: Certificates::default(),
        }
    }

    /// What the destination is called in logs and signals, `nats` unless said otherwise.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The client's own options, for credentials, certificates and TLS. Those given in the URL are used too. The relay sees to
    /// reconnecting and to the callback of events itself.
    #[must_use]
    pub fn client(mut self, options: ConnectOptions) -> Self {
        self.client = options;
        self
    }

    /// A file of authorities in PEM, instead of those of the system, that the servers' certificates may be signed by; there is no connection
    /// without TLS then. It is read at each connection, so that a change of it needs no restart.
    #[must_use]
    pub fn authorities(mut self, file: impl Into<PathBuf>) -> Self {
        self.certificates.authorities = Some(file.into());
        self
    }

    /// One's own certificate and its key, two files in PEM, for servers that ask who connects; there is no connection without TLS then. Read
    /// at each connection.
    #[must_use]
    pub fn certificate(mut self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.certificates.own = Some((certificate.into(), key.into()));
        self
    }

    /// Makes the stream when it is not there. One of its name that is there stays as it is.
    #[must_use]
    pub fn declare(mut self, stream: Config) -> Self {
        self.topology = Topology::Declare(Box::new(stream));
        self
    }

    /// Publishes only while the stream of this name is there.
    #[must_use]
    pub fn check(mut self, stream: impl Into<String>) -> Self {
        self.topology = Topology::Check(stream.into());
        self
    }

    /// Begins to connect, and does not wait for it: a service starts while its broker is away. [`Nats::ready`] waits.
    ///
    /// # Errors
    /// When no connection can ever be made with these settings.
    pub async fn connect(self) -> Result<Nats, NatsError> {
        let (heard, events) = unbounded_channel();
        let client = self.certificates.add_to(self.client);
        let link = Link::new();
        let shown = servers::shown(&self.servers);
        let inquiry =
            Inquiry::new(Of::Destination, self.name.clone(), self.servers.clone(), client.clone(), link.clone());
        let options = client.retry_on_initial_connect().max_reconnects(None).event_callback(move |event| {
            // Nobody listens any more when the transport is gone.
            let _ = heard.send(event);
            std::future::ready(())
        });
        let client = options.connect(servers::each(&self.servers)).await.map_err(|error| servers::refused(&error))?;
        let context = ContextBuilder::new()
            .timeout(Duration::from_secs(10))
            .ack_timeout(ACK_TIMEOUT)
            .max_ack_inflight(MOST_WAITED_FOR)
            .build(client);
        let supervised = Supervised {
            name: self.name.clone(),
            servers: shown.clone(),
            context: context.clone(),
            topology: self.topology,
            link: link.clone(),
            inquiry,
        };
        let supervisor = tokio::spawn(supervised.run(events)).abort_handle();
        Ok(Nats { name: self.name, servers: shown, context, link, supervisor })
    }
}

impl fmt::Debug for NatsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Without addresses and options, which may hold a password.
impl fmt::Debug for NatsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsBuilder")
            .field("name", &self.name)
            .field("topology", &self.topology)
            .finish_non_exhaustive()
    }
}
