//! Events of an outbox, by a worker, to a quorum queue.

use std::collections::BTreeSet;
use std::time::Duration;

use outbox::{EventId, Outbox, Registry, event};
use outbox_amqp::Amqp;
use outbox_relay::contract::{Broker as _, PATIENCE};
use outbox_relay::{CircuitState, Relay, RelayBuilder};
use outbox_testing::Sandbox;
use tokio::task::JoinHandle;

use crate::server::Server;

#[event("order.placed")]
pub struct OrderPlaced {
    #[subject]
    pub order_id: i64,
}

outbox_relay::relay!(
    "shop.relay",
    event = "*",
    transport = Amqp,
    max_attempts = 3,
    backoff = exponential("1s", max = "1s")
);

/// An outbox whose events go to an exchange of the test's own.
pub struct Floor {
    pub sandbox: Sandbox,
    pub server: Server,
    pub outbox: Outbox,
    pub relay: Relay<Amqp>,
}

impl Floor {
    pub async fn with(server: Server, settings: impl FnOnce(RelayBuilder<Amqp>) -> RelayBuilder<Amqp>) -> Self {
        let amqp = server.builder(server.address()).queue(&server.queue, ["shop.order.#"]).connect().unwrap();
        amqp.ready(PATIENCE).await.unwrap();
        let relay = settings(Relay::builder(amqp, "/shop").prefix("shop")).build().unwrap();
        let sandbox = Sandbox::new().await;
        let registry = Registry::linked().with_subscribers(|one| one.name == "shop.relay");
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

    /// Until this many jobs are done.
    pub async fn until_succeeded(&self, count: i64) {
        let done = async {
            while self.succeeded().await < count {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, done).await;
        waited.unwrap_or_else(|_| panic!("{count} events should have arrived: {:#?}", self.relay));
    }
}

/// Five hundred, by calls of a hundred, many on one channel at a time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_events_arrive_each_once() {
    let floor = Floor::with(Server::shared().await, |relay| relay).await;
    let mut ids = BTreeSet::new();
    let mut tx = floor.outbox.begin().await.unwrap();
    for order_id in 0..500 {
        ids.insert(floor.outbox.publish(&mut tx, &OrderPlaced { order_id }).await.unwrap().event_id.to_string());
    }
    tx.commit().await.unwrap();
    let worker = floor.work();
    floor.until_succeeded(500).await;
    worker.abort();
    let stored = floor.server.stored().await;
    let arrived: BTreeSet<_> = stored.iter().map(|stored| stored.id.clone()).collect();
    assert_eq!((&arrived, stored.len()), (&ids, 500));
}

/// S2-17, O14, B16: a message that no queue takes is confirmed by the broker, and not done. It says `NO_ROUTE` and is tried again, others pass, and
/// when a queue is bound it arrives once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_queue_takes_is_tried_again_and_others_pass() {
    let floor = Floor::with(Server::shared().await, |relay| relay.prefix("nowhere")).await;
    let id = floor.order(1).await;
    floor.outbox.drain().await.unwrap();
    let jobs = floor.sandbox.jobs().await;
    assert_eq!((jobs.only().status.as_str(), jobs.only().attempts), ("pending", 1));
    let error = jobs.only().last_error.clone().unwrap();
    assert!(error.contains("`nowhere.order.placed.v1`") && error.contains("NO_ROUTE"), "{error}");
    assert_eq!(floor.relay.status().circuit, CircuitState::Closed);
    floor.server.bind("nowhere.#").await;
    floor.sandbox.execute("update :schema.job_live set available_at = now() where status = 'pending'").await;
    floor.outbox.drain().await.unwrap();
    assert_eq!(floor.sandbox.jobs().await.succeeded(), 1);
    let arrived: Vec<_> = floor.server.stored().await.into_iter().map(|stored| stored.id).collect();
    assert_eq!(arrived, [id.to_string()]);
}

/// O14: a queue that is full and rejects has the broker answer with a `basic.nack`: nothing is marked, and when there is room it arrives.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_full_queue_rejects_is_tried_again() {
    let floor = Floor::with(Server::shared().await, |relay| relay.prefix("narrow")).await;
    let queue = floor.server.narrow_queue("narrow.#").await;
    let first = floor.order(1).await;
    floor.outbox.drain().await.unwrap();
    let second = floor.order(2).await;
    floor.outbox.drain().await.unwrap();
    let jobs = floor.sandbox.jobs().await;
    assert_eq!((jobs.succeeded(), jobs.count("pending")), (1, 1));
    let error = jobs.0.iter().find_map(|job| job.last_error.clone()).unwrap();
    assert!(error.contains("not acknowledged"), "{error}");
    assert_eq!((floor.relay.status().refused, floor.relay.status().circuit), (1, CircuitState::Closed));
    assert_eq!(floor.server.take(&queue).await, [first.to_string()]);
    floor.sandbox.execute("update :schema.job_live set available_at = now() where status = 'pending'").await;
    floor.outbox.drain().await.unwrap();
    assert_eq!(floor.sandbox.jobs().await.succeeded(), 2);
    assert_eq!(floor.server.take(&queue).await, [second.to_string()]);
}
