//! A NATS server with JetStream, and its stream.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;

use futures_util::StreamExt as _;
use outbox_nats::async_nats::jetstream::consumer::{AckPolicy, pull};
use outbox_nats::async_nats::jetstream::{self, stream};
use outbox_nats::async_nats::{self, HeaderMap};
use outbox_nats::{Nats, NatsBuilder};
use outbox_relay::contract::{Broker, NatsServer, PATIENCE, Stored};

/// The stream of the tests.
pub const STREAM: &str = "CONTRACT";
/// The server's default.
const MAX_PAYLOAD: usize = 1 << 20;

pub struct Server(NatsServer);

pub fn stream(subjects: &[&str]) -> stream::Config {
    let subjects = subjects.iter().map(|subject| (*subject).to_owned()).collect();
    stream::Config { name: STREAM.to_owned(), subjects, ..stream::Config::default() }
}

impl Server {
    pub async fn start_with(arguments: &[OsString]) -> Self {
        Self(NatsServer::start(arguments).await)
    }

    pub fn builder(&self) -> NatsBuilder {
        Nats::builder(format!("nats://{}", self.address()))
    }

    /// As any client sees it.
    pub async fn jetstream(&self) -> jetstream::Context {
        let client = async_nats::connect(format!("nats://{}", self.address())).await.unwrap();
        jetstream::new(client)
    }
}

impl Broker for Server {
    type Transport = Nats;

    const DEDUPLICATES: bool = true;

    async fn start() -> Self {
        Self::start_with(&[]).await
    }

    fn address(&self) -> SocketAddr {
        self.0.address()
    }

    async fn transport(&self, address: SocketAddr) -> Nats {
        Nats::builder(format!("nats://{address}")).declare(stream(&["contract.>"])).connect().await.unwrap()
    }

    fn too_large(&self) -> usize {
        MAX_PAYLOAD
    }

    async fn take_elsewhere(&self) {
        self.jetstream().await.update_stream(stream(&["contract.>", "elsewhere.>"])).await.unwrap();
    }

    async fn stored(&self) -> Vec<Stored> {
        let jetstream = self.jetstream().await;
        let Ok(mut stream) = jetstream.get_stream(STREAM).await else { return Vec::new() };
        let count = usize::try_from(stream.info().await.unwrap().state.messages).unwrap();
        let config = pull::Config { ack_policy: AckPolicy::None, ..pull::Config::default() };
        let consumer = stream.create_consumer(config).await.unwrap();
        let messages = consumer.messages().await.unwrap().take(count);
        let read = messages.map(|message| stored(&message.unwrap())).collect();
        tokio::time::timeout(PATIENCE, read).await.expect("the stream is read")
    }

    async fn kill(&mut self) {
        self.0.kill();
    }

    async fn restart(&mut self) {
        self.0.restart().await;
    }

    fn freeze(&self) {
        self.0.process().freeze();
    }

    fn thaw(&self) {
        self.0.process().thaw();
    }
}

fn stored(message: &async_nats::Message) -> Stored {
    let none = HeaderMap::new();
    let headers = message.headers.as_ref().unwrap_or(&none);
    let text = |name: &str| headers.get(name).map(|value| decoded(value.as_str()));
    let mut attributes = BTreeMap::new();
    for (name, values) in headers.iter() {
        if let Some(attribute) = name.to_string().strip_prefix("ce-") {
            attributes.insert(attribute.to_owned(), decoded(values[0].as_str()));
        }
    }
    assert_eq!(attributes.remove("datacontenttype"), text("content-type"));
    Stored {
        id: text("Nats-Msg-Id").unwrap_or_default(),
        route: message.subject.to_string(),
        attributes,
        content_type: text("content-type").unwrap_or_default(),
        traceparent: text("traceparent"),
        payload: message.payload.to_vec(),
    }
}

fn decoded(value: &str) -> String {
    percent_encoding::percent_decode_str(value).decode_utf8().unwrap().into_owned()
}
