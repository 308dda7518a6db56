//! An exchange and a quorum queue of a test's own.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use outbox_amqp::lapin::message::Delivery;
use outbox_amqp::lapin::options::{BasicAckOptions, BasicGetOptions, QueueBindOptions, QueueDeclareOptions};
use outbox_amqp::lapin::types::{AMQPValue, FieldTable};
use outbox_amqp::{Amqp, AmqpBuilder};
use outbox_relay::contract::{Broker, Stored};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::node::{MAX_MESSAGE, Node, url};

pub struct Server {
    /// When it may be killed.
    disturbed: Option<OwnedMutexGuard<Node>>,
    address: SocketAddr,
    pub exchange: String,
    pub queue: String,
    /// What was read already.
    read: Mutex<Vec<Stored>>,
}

impl Server {
    async fn of(disturbed: Option<OwnedMutexGuard<Node>>) -> Self {
        let address = match &disturbed {
            Some(node) => node.address(),
            None => Node::quiet().await.address(),
        };
        let name = uuid::Uuid::new_v4().simple().to_string();
        let (exchange, queue) = (format!("x.{name}"), format!("q.{name}"));
        Self { disturbed, address, exchange, queue, read: Mutex::default() }
    }

    pub async fn node(&self) -> &Node {
        match &self.disturbed {
            Some(node) => node,
            None => Node::quiet().await,
        }
    }

    pub fn builder(&self, address: SocketAddr) -> AmqpBuilder {
        Amqp::builder(url(address), &self.exchange)
    }

    /// A queue of one place, which rejects what comes beyond it.
    pub async fn narrow_queue(&self, pattern: &str) -> String {
        let name = format!("narrow.{}", self.queue);
        let connection = self.node().await.connection().await;
        let channel = connection.create_channel().await.unwrap();
        let mut arguments = FieldTable::default();
        arguments.insert("x-max-length".into(), AMQPValue::LongInt(1));
        arguments.insert("x-overflow".into(), AMQPValue::LongString("reject-publish".into()));
        let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        channel.queue_declare(name.as_str().into(), options, arguments).await.unwrap();
        let (queue, exchange) = (name.as_str().into(), self.exchange.as_str().into());
        let options = QueueBindOptions::default();
        channel.queue_bind(queue, exchange, pattern.into(), options, FieldTable::default()).await.unwrap();
        name
    }

    /// The ids of what is in this queue, which has it no more.
    pub async fn take(&self, queue: &str) -> Vec<String> {
        let connection = self.node().await.connection().await;
        let channel = connection.create_channel().await.unwrap();
        let mut ids = Vec::new();
        while let Some(got) = channel.basic_get(queue.into(), BasicGetOptions::default()).await.unwrap() {
            ids.push(stored(&got.delivery).id);
            got.delivery.acker.ack(BasicAckOptions::default()).await.unwrap();
        }
        // The acknowledgements have arrived when the broker answers what comes behind them.
        channel.close(200, "taken".into()).await.unwrap();
        ids
    }

    pub async fn bind(&self, pattern: &str) {
        let connection = self.node().await.connection().await;
        let channel = connection.create_channel().await.unwrap();
        let (queue, exchange) = (self.queue.as_str().into(), self.exchange.as_str().into());
        let options = QueueBindOptions::default();
        channel.queue_bind(queue, exchange, pattern.into(), options, FieldTable::default()).await.unwrap();
    }
}

impl Broker for Server {
    type Transport = Amqp;

    const DEDUPLICATES: bool = false;

    async fn start() -> Self {
        Self::of(Some(Node::disturbed().await)).await
    }

    async fn shared() -> Self {
        Self::of(None).await
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    async fn transport(&self, address: SocketAddr) -> Amqp {
        self.builder(address).queue(&self.queue, ["contract.#"]).connect().unwrap()
    }

    fn too_large(&self) -> usize {
        MAX_MESSAGE
    }

    async fn take_elsewhere(&self) {
        self.bind("elsewhere.#").await;
    }

    async fn stored(&self) -> Vec<Stored> {
        let mut read = self.read.lock().await;
        let connection = self.node().await.connection().await;
        let channel = connection.create_channel().await.unwrap();
        let queue = || self.queue.as_str().into();
        while let Some(got) = channel.basic_get(queue(), BasicGetOptions::default()).await.unwrap() {
            read.push(stored(&got.delivery));
            got.delivery.acker.ack(BasicAckOptions::default()).await.unwrap();
        }
        // The acknowledgements have arrived when the broker answers what comes behind them.
        channel.close(200, "read".into()).await.unwrap();
        read.clone()
    }

    async fn kill(&mut self) {
        self.disturbed.as_mut().expect("a node that nobody else uses").0.kill().await;
    }

    async fn restart(&mut self) {
        self.disturbed.as_mut().expect("a node that nobody else uses").restart().await;
    }

    fn freeze(&self) {
        self.disturbed.as_ref().expect("a node that nobody else uses").0.process().freeze();
    }

    fn thaw(&self) {
        self.disturbed.as_ref().expect("a node that nobody else uses").0.process().thaw();
    }
}

fn stored(delivery: &Delivery) -> Stored {
    let properties = &delivery.properties;
    assert_eq!(*properties.delivery_mode(), Some(2), "it survives a restart");
    let mut attributes = BTreeMap::new();
    let mut traceparent = None;
    for (name, value) in properties.headers().iter().flat_map(FieldTable::inner) {
        let AMQPValue::LongString(text) = value else { continue };
        let text = String::from_utf8(text.as_bytes().to_vec()).unwrap();
        match name.as_str().strip_prefix("cloudEvents:") {
            Some(attribute) => drop(attributes.insert(attribute.to_owned(), text)),
            None if name.as_str() == "traceparent" => traceparent = Some(text),
            None => {}
        }
    }
    let text = |text: &Option<outbox_amqp::lapin::types::ShortString>| {
        text.as_ref().map(ToString::to_string).unwrap_or_default()
    };
    Stored {
        id: text(properties.message_id()),
        route: delivery.routing_key.to_string(),
        attributes,
        content_type: text(properties.content_type()),
        traceparent,
        payload: delivery.data.clone(),
    }
}
