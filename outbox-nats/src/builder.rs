//! The settings of a transport to NATS.

use std::fmt;
use std::time::Duration;

use async_nats::ConnectOptions;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::stream::Config;
use outbox_relay::Link;
use tokio::sync::mpsc::unbounded_channel;

use crate::answer::ACK_TIMEOUT;
use crate::nats::Nats;
use crate::supervise::supervise;
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
}

/// A transport that cannot be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NatsError {
    /// The URL, a certificate or a key. The text holds neither.
    #[error("no connection to NATS can be made with these settings: {0}")]
    Settings(String),
}

impl NatsBuilder {
    pub(crate) fn new(servers: String) -> Self {
        let client = ConnectOptions::new().name("outbox-relay").ping_interval(PING);
        Self { servers, name: "nats".to_owned(), client, topology: Topology::default() }
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
        let options = self.client.retry_on_initial_connect().max_reconnects(None).event_callback(move |event| {
            // Nobody listens any more when the transport is gone.
            let _ = heard.send(event);
            std::future::ready(())
        });
        let servers: Vec<&str> = self.servers.split(',').map(str::trim).collect();
        // The kind only: the source may quote the URL, and the URL hold a password.
        let client = options.connect(servers).await.map_err(|error| NatsError::Settings(error.kind().to_string()))?;
        let context = ContextBuilder::new()
            .timeout(Duration::from_secs(10))
            .ack_timeout(ACK_TIMEOUT)
            .max_ack_inflight(MOST_WAITED_FOR)
            .build(client);
        let link = Link::new();
        let task = supervise(self.name.clone(), context.clone(), self.topology, link.clone(), events);
        let supervisor = tokio::spawn(task).abort_handle();
        Ok(Nats { name: self.name, context, link, supervisor })
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
