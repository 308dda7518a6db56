//! Events of an outbox, by a worker, to a stream.

use std::time::Duration;

use outbox::{EventId, Metadata, Outbox, Registry, event};
use outbox_nats::Nats;
use outbox_relay::contract::{Broker as _, Stored};
use outbox_relay::{Relay, RelayBuilder};
use outbox_testing::Sandbox;
use tokio::task::JoinHandle;

use crate::server::{Server, stream};

#[event("order.placed")]
pub struct OrderPlaced {
    #[subject]
    pub order_id: i64,
}

#[event("parcel.sent")]
pub struct ParcelSent {
    #[subject]
    pub number: String,
}

outbox_relay::relay!(
    "shop.relay",
    event = "*",
    transport = Nats,
    max_attempts = 3,
    backoff = exponential("1s", max = "1s")
);

/// An outbox whose events go to a server of the test's own.
pub struct Floor {
    pub sandbox: Sandbox,
    pub server: Server,
    pub outbox: Outbox,
    pub relay: Relay<Nats>,
}

impl Floor {
    pub async fn new() -> Self {
        Self::with(|relay| relay).await
    }

    pub async fn with(settings: impl FnOnce(RelayBuilder<Nats>) -> RelayBuilder<Nats>) -> Self {
        let server = Server::start().await;
        let nats = server.builder().declare(stream(&["shop.order.>"])).connect().await.unwrap();
        nats.ready(outbox_relay::contract::PATIENCE).await.unwrap();
        let relay = settings(Relay::builder(nats, "/shop").prefix("shop")).build().unwrap();
        let sandbox = Sandbox::new().await;
        let registry = Registry::linked().with_subscribers(|one| one.name != "billing.book");
        let outbox = sandbox.outbox().registry(registry).state(relay.clone()).build().await.unwrap();
        Self { sandbox, server, outbox, relay }
    }

    pub async fn order(&self, order_id: i64) -> EventId {
        let mut tx = self.outbox.begin().await.unwrap();
        let published = self.outbox.publish(&mut tx, &OrderPlaced { order_id }).await.unwrap();
        tx.commit().await.unwrap();
        published.event_id
    }

    pub fn work(&self) -> JoinHandle<()> {
        let outbox = self.outbox.clone();
        tokio::spawn(async move { outbox.run(std::future::pending()).await.unwrap() })
    }

    pub async fn succeeded(&self) -> i64 {
        self.sandbox.number("select count(*) from :schema.job_succeeded").await
    }

    /// Until this many events have arrived, and their jobs are done.
    pub async fn until_succeeded(&self, count: i64) {
        let done = async {
            while self.succeeded().await < count {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(outbox_relay::contract::PATIENCE, done).await;
        waited.unwrap_or_else(|_| panic!("{count} events should have arrived: {:#?}", self.relay));
    }

    pub async fn stored(&self) -> Vec<Stored> {
        self.server.stored().await
    }
}

/// S2-17: an event arrives as it was published, under its id, with what ties it to its cause and its trace, and its job is
/// done by then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_arrives_under_its_id_with_its_context() {
    let floor = Floor::with(|relay| relay.by_subject(true)).await;
    let mut context = Metadata::new().actor("ann").correlation("request 7").tenant("acme");
    context.traceparent = Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned());
    let id = floor.outbox.scope_with(context.clone(), floor.order(4711)).await;
    floor.outbox.drain().await.unwrap();
    let stored = floor.stored().await;
    assert_eq!(stored.len(), 1);
    let message = &stored[0];
    assert_eq!((message.id.clone(), message.route.as_str()), (id.to_string(), "shop.order.placed.v1.4711"));
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&message.payload).unwrap()["order_id"], 4711);
    let attribute = |name: &str| message.attributes.get(name).map(String::as_str);
    assert_eq!(attribute("id"), Some(message.id.as_str()));
    assert_eq!((attribute("source"), attribute("specversion")), (Some("/shop"), Some("1.0")));
    assert_eq!((attribute("type"), attribute("subject")), (Some("order.placed.v1"), Some("4711")));
    assert_eq!((attribute("actor"), attribute("tenant")), (Some("ann"), Some("acme")));
    assert_eq!(attribute("correlationid"), Some("request 7"));
    assert_eq!(message.traceparent, context.traceparent);
    assert_eq!(floor.succeeded().await, 1);
    assert_eq!(floor.relay.status().confirmed, 1);
}

/// A thousand, by calls of a hundred, and each is there once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_events_arrive_each_once() {
    let floor = Floor::new().await;
    let mut tx = floor.outbox.begin().await.unwrap();
    for order_id in 0..1_000 {
        floor.outbox.publish(&mut tx, &OrderPlaced { order_id }).await.unwrap();
    }
    tx.commit().await.unwrap();
    let worker = floor.work();
    floor.until_succeeded(1_000).await;
    let ids: std::collections::BTreeSet<_> = floor.stored().await.into_iter().map(|stored| stored.id).collect();
    assert_eq!((ids.len(), floor.stored().await.len()), (1_000, 1_000));
    assert!(floor.relay.status().window > 1, "the window has ramped up");
    worker.abort();
}

/// An event whose transaction is rolled back never reaches the broker.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_commit_does_not_arrive() {
    let floor = Floor::new().await;
    let mut tx = floor.outbox.begin().await.unwrap();
    floor.outbox.publish(&mut tx, &OrderPlaced { order_id: 1 }).await.unwrap();
    tx.rollback().await.unwrap();
    let kept = floor.order(2).await;
    floor.outbox.drain().await.unwrap();
    let ids: Vec<_> = floor.stored().await.into_iter().map(|stored| stored.id).collect();
    assert_eq!(ids, [kept.to_string()]);
}

/// A subscriber that tries to send what it made up: another payload under the event's id, and an event that never was.
#[outbox::subscriber(event = "parcel.lost", name = "forger.forge", idempotent = "a test")]
async fn forge(
    events: outbox::Batch<outbox::Envelope>,
    relaying: outbox_relay::Relaying<Nats>,
) -> outbox::HandlerResult {
    let made_up = outbox::Payload::from_json(r#"{"made":"up"}"#);
    let true_id = outbox::Envelope { payload: made_up, ..events[0].envelope().clone() };
    let other_id = outbox::Envelope { id: EventId::from(uuid::Uuid::new_v4()), ..true_id.clone() };
    relaying.forward(outbox::Batch::of_envelopes([true_id, other_id])).await;
    Ok(())
}

#[event("parcel.lost")]
struct ParcelLost {
    number: i64,
}

/// S2-66: what a handler can get hold of sends the events of its own delivery, which have committed, as they were published, and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_can_send_nothing_of_its_own() {
    let floor = Floor::with(|relay| relay.prefix("shop.order")).await;
    let mut tx = floor.outbox.begin().await.unwrap();
    let published = floor.outbox.publish(&mut tx, &ParcelLost { number: 7 }).await.unwrap();
    tx.commit().await.unwrap();
    floor.outbox.drain().await.unwrap();
    let jobs = floor.sandbox.jobs().await;
    assert_eq!((jobs.of("forger.forge").succeeded(), jobs.of("shop.relay").succeeded()), (1, 1));
    let stored = floor.stored().await;
    let ids: Vec<_> = stored.iter().map(|stored| stored.id.clone()).collect();
    assert_eq!(ids, [published.event_id.to_string()]);
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&stored[0].payload).unwrap()["number"], 7);
    assert_eq!(floor.relay.status().confirmed, 2, "the forger sent the true one, which was known by its id");
}
