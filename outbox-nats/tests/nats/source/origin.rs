//! A server with a stream, and a consumer that brings back within seconds what nobody acknowledged.

use std::net::SocketAddr;
use std::time::Duration;

use outbox_ingest::contract::Published;
use outbox_nats::async_nats::HeaderMap;
use outbox_nats::async_nats::jetstream::consumer::{PullConsumer, pull};
use outbox_nats::async_nats::jetstream::stream;
use outbox_nats::{NatsSource, NatsSourceBuilder};
use outbox_relay::contract::Broker as _;
use outbox_relay::header_value;

use crate::server::{STREAM, Server, stream};

pub const DURABLE: &str = "billing";

pub struct Origin(pub Server);

/// Without any window in which the server would know a message by its id.
pub fn without_memory() -> stream::Config {
    stream::Config { duplicate_window: Duration::from_millis(100), ..stream(&["contract.>"]) }
}

impl Origin {
    pub fn builder(address: SocketAddr) -> NatsSourceBuilder {
        let config = pull::Config { ack_wait: Duration::from_secs(3), ..pull::Config::default() };
        NatsSource::builder(format!("nats://{address}"), STREAM, DURABLE).declare(config)
    }

    /// As a producer of any kind publishes it.
    pub async fn send(&self, subject: &str, headers: HeaderMap, body: Vec<u8>) {
        let jetstream = self.0.jetstream().await;
        let published = jetstream.publish_with_headers(subject.to_owned(), headers, body.into()).await.unwrap();
        published.await.unwrap();
    }

    pub async fn consumer(&self) -> PullConsumer {
        let stream = self.0.jetstream().await.get_stream(STREAM).await.unwrap();
        stream.get_consumer(DURABLE).await.unwrap()
    }
}

fn headers(message: &Published) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in &message.attributes {
        headers.insert(format!("ce-{name}"), &*header_value(value));
    }
    if let Some(odd) = &message.odd {
        headers.insert(format!("ce-{odd}"), "%FF%FE");
    }
    if let Some(trace) = &message.traceparent {
        headers.insert("traceparent", trace.as_str());
    }
    headers.insert("content-type", "application/json");
    headers.insert("Nats-Msg-Id", message.id());
    headers
}

impl outbox_ingest::contract::Origin for Origin {
    type Source = NatsSource;

    async fn start() -> Self {
        let origin = Self(Server::start().await);
        origin.0.jetstream().await.create_stream(without_memory()).await.unwrap();
        origin
    }

    fn address(&self) -> SocketAddr {
        self.0.address()
    }

    async fn source(&self, address: SocketAddr) -> NatsSource {
        Self::builder(address).connect().await.unwrap()
    }

    async fn publish(&self, message: &Published) {
        self.send("contract.order.placed.v1", headers(message), message.body.clone()).await;
    }

    async fn left(&self) -> usize {
        let mut consumer = self.consumer().await;
        let info = consumer.info().await.unwrap();
        usize::try_from(info.num_pending).unwrap() + info.num_ack_pending
    }

    async fn kill(&mut self) {
        self.0.kill().await;
    }

    async fn restart(&mut self) {
        self.0.restart().await;
    }

    fn freeze(&self) {
        self.0.freeze();
    }

    fn thaw(&self) {
        self.0.thaw();
    }
}
