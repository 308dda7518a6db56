//! A queue as a source of the ingest's contract, and what is RabbitMQ's own in it.

use std::net::SocketAddr;
use std::time::Duration;

use outbox_amqp::lapin::options::{BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions, QueueDeleteOptions};
use outbox_amqp::lapin::types::{AMQPValue, FieldTable};
use outbox_amqp::lapin::{BasicProperties, Channel, Confirmation};
use outbox_amqp::{AmqpSource, AmqpSourceBuilder};
use outbox_ingest::Source as _;
use outbox_ingest::contract::{Origin, PATIENCE, Published};
use tokio::sync::OwnedMutexGuard;
use tokio::time::timeout;

use crate::node::{Node, url};

/// A node that nobody else uses, and a quorum queue on it.
pub struct Queue {
    node: OwnedMutexGuard<Node>,
    pub name: String,
}

impl Queue {
    pub fn builder(&self, address: SocketAddr) -> AmqpSourceBuilder {
        AmqpSource::builder(url(address), &self.name)
    }

    /// One that consumes.
    pub async fn consuming(&self) -> AmqpSource {
        let source = self.builder(self.address()).declare().connect().unwrap();
        source.ready(PATIENCE).await.unwrap();
        source
    }

    pub async fn channel(&self) -> Channel {
        let connection = self.node.connection().await;
        let channel = connection.create_channel().await.unwrap();
        // It ends with the test's runtime.
        std::mem::forget(connection);
        channel
    }

    pub async fn declare(&self) {
        let mut arguments = FieldTable::default();
        arguments.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
        let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        self.channel().await.queue_declare(self.name.as_str().into(), options, arguments).await.unwrap();
    }

    pub async fn delete(&self) {
        let options = QueueDeleteOptions::default();
        self.channel().await.queue_delete(self.name.as_str().into(), options).await.unwrap();
    }

    /// With these properties, and a confirm.
    pub async fn publish_with(&self, properties: BasicProperties, body: &[u8]) {
        publish(&self.channel().await, &self.name, properties, body).await;
    }
}

pub async fn publish(channel: &Channel, queue: &str, properties: BasicProperties, body: &[u8]) {
    channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
    let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
    let confirm = channel.basic_publish("".into(), queue.into(), options, body, properties).await.unwrap();
    assert_eq!(confirm.await.unwrap(), Confirmation::Ack(None));
}

/// As any producer of CloudEvents writes them.
pub fn properties(message: &Published, prefix: &str) -> BasicProperties {
    let text = |value: &str| AMQPValue::LongString(value.into());
    let mut headers = FieldTable::default();
    for (name, value) in &message.attributes {
        headers.insert(format!("{prefix}{name}").into(), text(value));
    }
    if let Some(name) = &message.odd {
        headers.insert(format!("{prefix}{name}").into(), AMQPValue::FieldTable(FieldTable::default()));
    }
    if let Some(trace) = &message.traceparent {
        headers.insert("traceparent".into(), text(trace));
    }
    BasicProperties::default()
        .with_message_id(message.id().into())
        .with_content_type("application/json".into())
        .with_delivery_mode(2)
        .with_headers(headers)
}

impl Origin for Queue {
    type Source = AmqpSource;

    async fn start() -> Self {
        Self { node: Node::disturbed().await, name: format!("in.{}", uuid::Uuid::new_v4().simple()) }
    }

    fn address(&self) -> SocketAddr {
        self.node.address()
    }

    async fn source(&self, address: SocketAddr) -> AmqpSource {
        self.builder(address).declare().connect().unwrap()
    }

    async fn publish(&self, message: &Published) {
        self.declare().await;
        self.publish_with(properties(message, "cloudEvents:"), &message.body).await;
    }

    async fn left(&self) -> usize {
        self.node.0.messages(&self.name).await
    }

    async fn kill(&mut self) {
        self.node.0.kill().await;
    }

    async fn restart(&mut self) {
        self.node.restart().await;
    }

    fn freeze(&self) {
        self.node.0.process().freeze();
    }

    fn thaw(&self) {
        self.node.0.process().thaw();
    }
}

// The clauses of the contract, each a test.
outbox_ingest::contract!(Queue);

fn event(id: &str) -> Published {
    let attributes = [("specversion", "1.0"), ("id", id), ("type", "order.placed.v1")];
    let attributes = attributes.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Published { attributes, traceparent: None, odd: None, body: b"{}".to_vec() }
}

/// What its debugging says of the next delivery: nobody but an ingest sees more.
async fn received(source: &AmqpSource) -> String {
    let deliveries = timeout(PATIENCE, source.receive(1)).await;
    format!("{:?}", deliveries.unwrap_or_else(|_| panic!("it comes: {:?}", source.link())))
}

/// S2-38, O34: a queue that was deleted has its consumer cancelled by the broker, of which neither channel nor connection says anything. The
/// source says that it is down and why, and consumes again when the queue is there; the time between is measured.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_is_deleted_and_made_again_is_consumed_again() {
    let queue = Queue::start().await;
    queue.declare().await;
    let source = queue.builder(queue.address()).connect().unwrap();
    source.ready(PATIENCE).await.unwrap();
    queue.delete().await;
    timeout(PATIENCE, source.link().down()).await.expect("it is noticed");
    // It tries, and is told that there is no such queue.
    let told = async {
        while !source.link().status().last_error.is_some_and(|error| error.contains("NOT_FOUND")) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, told).await.expect("it says why");
    let down = source.link().status();
    assert!(down.down_for.is_some() && down.losses == 1, "{down:?}");
    queue.publish(&event("after")).await;
    assert!(received(&source).await.contains(&queue.name));
    let up = source.link().status();
    assert!(up.down_for.is_none() && up.down_total >= down.down_total, "{up:?}");
}

/// One that declares its queue makes it again by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_is_deleted_is_declared_again() {
    let queue = Queue::start().await;
    let source = queue.consuming().await;
    queue.delete().await;
    timeout(PATIENCE, source.link().down()).await.expect("it is noticed");
    timeout(PATIENCE, source.link().up()).await.expect("it is made again");
    queue.publish(&event("after")).await;
    received(&source).await;
}

/// S2-38: what two consumers share goes on with the other one while one is away, and a broker that was stopped in good order is consumed from again
/// by both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_is_restarted_in_good_order_is_consumed_from_again() {
    let mut queue = Queue::start().await;
    let sources = [queue.consuming().await, queue.consuming().await];
    queue.node.0.stop().await;
    for source in &sources {
        timeout(PATIENCE, source.link().down()).await.expect("it is noticed");
    }
    queue.restart().await;
    for source in &sources {
        timeout(PATIENCE, source.link().up()).await.expect("it consumes again");
    }
    queue.publish(&event("after")).await;
    tokio::select! {
        _ = received(&sources[0]) => {}
        _ = received(&sources[1]) => {}
    }
}

/// The broker sends no more than the prefetch ahead of acknowledgements, and what one consumer holds another one does not get.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_than_the_prefetch_is_in_hand() {
    let queue = Queue::start().await;
    queue.declare().await;
    for n in 0..10 {
        queue.publish(&event(&n.to_string())).await;
    }
    let first = queue.builder(queue.address()).prefetch(4).connect().unwrap();
    let mut held = Vec::new();
    while held.len() < 4 {
        held.extend(timeout(PATIENCE, first.receive(100)).await.expect("they come"));
    }
    let second = queue.builder(queue.address()).prefetch(100).connect().unwrap();
    let mut others = Vec::new();
    while others.len() < 6 {
        others.extend(timeout(PATIENCE, second.receive(100)).await.expect("the rest comes to the other one"));
    }
    assert_eq!((held.len(), others.len()), (4, 6));
    // Dropped without a word, they come to whoever has room.
    drop(held);
    let mut again = Vec::new();
    while again.len() < 4 {
        let received = timeout(PATIENCE, async {
            tokio::select! { one = first.receive(100) => one, other = second.receive(100) => other }
        });
        again.extend(received.await.expect("what was dropped comes again"));
    }
    assert_eq!(again.len(), 4);
}

/// An exchange and a binding that were not there are made, and what is relayed to the exchange comes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_binds_its_queue_gets_what_the_exchange_takes() {
    let queue = Queue::start().await;
    let exchange = format!("x.{}", queue.name);
    let source = queue.builder(queue.address()).bind(&exchange, ["order.#"]).connect().unwrap();
    source.ready(PATIENCE).await.unwrap();
    let channel = queue.channel().await;
    channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
    let (options, key) = (BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() }, "order.placed.v1");
    let published =
        channel.basic_publish(exchange.as_str().into(), key.into(), options, b"{}", BasicProperties::default());
    assert_eq!(published.await.unwrap().await.unwrap(), Confirmation::Ack(None));
    assert!(received(&source).await.contains(key));
}

/// Not in what is shown of it, nor in its errors.
#[tokio::test]
async fn credentials_are_not_shown() {
    let secret = "hunter2";
    let builder = AmqpSource::builder(format!("amqp://ann:{secret}@127.0.0.1:1/%2f"), "billing");
    assert!(!format!("{builder:?}").contains(secret));
    let source = builder.connect().unwrap();
    let told = async {
        loop {
            if let Some(error) = source.link().status().last_error {
                return error;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let error = timeout(PATIENCE, told).await.expect("nobody is there");
    assert!(!format!("{source:?} {error}").contains(secret));
    assert_eq!(source.name(), "billing");
}
