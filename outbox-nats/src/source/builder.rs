//! The settings of a source.

use std::fmt;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::Duration;

use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::{ConnectOptions, Event};
use outbox_relay::Link;
use tokio::sync::{Mutex, mpsc, watch};

use super::NatsSource;
use super::consume::{Consuming, Standing};
use super::consumer::Consumer;
use crate::builder::{NatsError, PING};
use crate::certificates::Certificates;
use crate::inquiry::{Inquiry, Of};
use crate::servers;

/// Longest that the server may take to answer about a stream or a consumer.
const LIMIT: Duration = Duration::from_secs(10);

/// Makes a [`NatsSource`]; see [`NatsSource::builder`].
pub struct NatsSourceBuilder {
    servers: String,
    name: Option<String>,
    client: ConnectOptions,
    certificates: Certificates,
    consumer: Consumer,
    ahead: usize,
}

impl NatsSourceBuilder {
    pub(super) fn new(servers: String, stream: String, durable: String) -> Self {
        let client = ConnectOptions::new().name("outbox-ingest").ping_interval(PING);
        let consumer = Consumer { stream, durable, declared: None };
        Self { servers, name: None, client, certificates: Certificates::default(), consumer, ahead: 256 }
    }

    /// What the source is called in logs, signals and the quarantine, where it is a part of the key: the same in every process, and for ever.
    /// The name of the consumer unless said otherwise.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The client's own options, for credentials, certificates and TLS. Those given in the URL are used too. The source sees to
    /// reconnecting and to the callback of events itself.
    #[must_use]
    pub fn client(mut self, options: ConnectOptions) -> Self {
        self.client = options;
        self
    }

    /// As of [`NatsBuilder`](crate::NatsBuilder::authorities).
    #[must_use]
    pub fn authorities(mut self, file: impl Into<PathBuf>) -> Self {
        self.certificates.authorities = Some(file.into());
        self
    }

    /// As of [`NatsBuilder`](crate::NatsBuilder::certificate).
    #[must_use]
    pub fn certificate(mut self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.certificates.own = Some((certificate.into(), key.into()));
        self
    }

    /// Makes the consumer when it is not there, with these settings; its name and its policy of acknowledgements are seen to. One that is
    /// there stays as it is. Unless this is said, the consumer must be there. The stream is its producer's: it must be there in any case, and is
    /// waited for.
    #[must_use]
    pub fn declare(mut self, config: pull::Config) -> Self {
        self.consumer.declared = Some(Box::new(config));
        self
    }

    /// Most messages that the server is asked for ahead of those that were received; 256 unless said otherwise. As many more may wait in
    /// memory.
    #[must_use]
    pub fn ahead(mut self, ahead: usize) -> Self {
        self.ahead = ahead.clamp(1, 10_000);
        self
    }

    /// Begins to connect, and does not wait for it: a service starts while its broker is away. [`NatsSource::ready`] waits.
    ///
    /// # Errors
    /// When no connection can ever be made with these settings.
    pub async fn connect(self) -> Result<NatsSource, NatsError> {
        let link = Link::new();
        let (standing, stands) = watch::channel(Standing::default());
        let client = self.certificates.add_to(self.client);
        let name = self.name.unwrap_or_else(|| self.consumer.durable.clone());
        let shown = servers::shown(&self.servers);
        let inquiry = Inquiry::new(Of::Source, name.clone(), self.servers.clone(), client.clone(), link.clone());
        let (heard, inquiry) = (link.clone(), std::sync::Mutex::new(inquiry));
        let events = move |event| {
            if matches!(event, Event::Connected) {
                inquiry.lock().unwrap_or_else(PoisonError::into_inner).ended();
            }
            standing.send_modify(|standing| match &event {
                Event::Connected => *standing = Standing { is_up: true, connections: standing.connections + 1 },
                Event::Disconnected | Event::Closed => standing.is_up = false,
                Event::ServerError(error) => heard.heard(error.to_string()),
                // No panic can leave it half written.
                Event::ClientError(error)
                    if inquiry.lock().unwrap_or_else(PoisonError::into_inner).asks_about(error) => {}
                Event::ClientError(error) => heard.heard(error.to_string()),
                Event::LameDuckMode | Event::Draining | Event::SlowConsumer(_) => {}
            });
            std::future::ready(())
        };
        let options = client.retry_on_initial_connect().max_reconnects(None).event_callback(events);
        let client = options.connect(servers::each(&self.servers)).await.map_err(|error| servers::refused(&error))?;
        let context = ContextBuilder::new().timeout(LIMIT).build(client.clone());
        let (sender, deliveries) = mpsc::channel(self.ahead);
        let consuming = Consuming {
            name: name.clone(),
            servers: shown,
            client,
            context,
            consumer: self.consumer,
            ahead: self.ahead,
            link: link.clone(),
            stands,
            deliveries: sender,
        };
        let consumer = tokio::spawn(consuming.run()).abort_handle();
        Ok(NatsSource { name, link, deliveries: Mutex::new(deliveries), consumer })
    }
}

/// Without addresses and options, which may hold a password.
impl fmt::Debug for NatsSourceBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsSourceBuilder")
            .field("name", &self.name)
            .field("consumer", &self.consumer)
            .finish_non_exhaustive()
    }
}
