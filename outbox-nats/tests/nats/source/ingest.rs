//! From one service's database over the broker into another's, with a broker that is killed in between.

use std::time::Duration;

use outbox::prelude::*;
use outbox::{Outbox, Registry};
use outbox_ingest::contract::Origin as _;
use outbox_ingest::{Ingest, Quarantine, Selection};
use outbox_nats::async_nats::HeaderMap;
use outbox_nats::{Nats, NatsSource};
use outbox_relay::Relay;
use outbox_relay::contract::PATIENCE;
use outbox_testing::Sandbox;
use sqlx::AssertSqlSafe;
use tokio::task::JoinHandle;

use super::origin::{DURABLE, Origin};
use crate::relay::OrderPlaced;

/// Where the handler writes.
#[derive(Clone)]
pub struct Bookings(String);

#[subscriber(event = "order.placed", name = "billing.book")]
async fn book(order: OrderPlaced, mut tx: Tx<'_>, State(bookings): State<Bookings>) -> Result<(), sqlx::Error> {
    let text = format!("insert into {} (order_id) values ($1)", bookings.0);
    sqlx::query(AssertSqlSafe(text)).bind(order.order_id).execute(&mut *tx).await.map(drop)
}

fn linking(handlers: &[&str]) -> Registry {
    Registry::linked().with_subscribers(|one| handlers.contains(&one.name))
}

/// The service that consumes.
struct Billing {
    sandbox: Sandbox,
    outbox: Outbox,
    ingest: Ingest<NatsSource>,
}

impl Billing {
    async fn new(origin: &Origin) -> Self {
        let sandbox = Sandbox::new().await;
        sandbox.execute("create table :schema.booking (order_id bigint not null)").await;
        let outbox = Self::outbox_on(&sandbox).await;
        Self { sandbox, outbox, ingest: Self::ingest_from(origin).await }
    }

    async fn outbox_on(sandbox: &Sandbox) -> Outbox {
        let bookings = Bookings(sandbox.table("booking"));
        let builder = sandbox.outbox().registry(linking(&["billing.book"])).state(bookings);
        builder.build().await.unwrap()
    }

    async fn ingest_from(origin: &Origin) -> Ingest<NatsSource> {
        let source = Origin::builder(origin.address()).connect().await.unwrap();
        source.ready(PATIENCE).await.unwrap();
        Ingest::builder(source).prefetch(50).build().unwrap()
    }

    fn run(&self) -> JoinHandle<()> {
        let (ingest, outbox) = (self.ingest.clone(), self.outbox.clone());
        tokio::spawn(async move { ingest.run(&outbox, std::future::pending()).await })
    }

    async fn until_stored(&self, count: i64) {
        let stored = async {
            while self.events().await < count {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, stored).await;
        waited.unwrap_or_else(|_| panic!("{count} events should be here: {:#?}", self.ingest.status()));
    }

    async fn events(&self) -> i64 {
        self.sandbox.number("select count(*) from :schema.event").await
    }

    async fn booked(&self) -> (i64, i64) {
        let all = self.sandbox.number("select count(*) from :schema.booking").await;
        (all, self.sandbox.number("select count(distinct order_id) from :schema.booking").await)
    }
}

/// The service that publishes.
struct Shop {
    sandbox: Sandbox,
    outbox: Outbox,
}

impl Shop {
    async fn new(origin: &Origin) -> Self {
        let nats = Nats::builder(format!("nats://{}", origin.address())).connect().await.unwrap();
        nats.ready(PATIENCE).await.unwrap();
        let short = Duration::from_millis(200);
        let relay = Relay::builder(nats, "/shop").prefix("contract").pauses(short, 4 * short).build().unwrap();
        let sandbox = Sandbox::new().await;
        let outbox = sandbox.outbox().registry(linking(&["shop.relay"])).state(relay).build().await.unwrap();
        Self { sandbox, outbox }
    }

    async fn order(&self, order_id: i64) -> outbox::EventId {
        let mut tx = self.outbox.begin().await.unwrap();
        let published = self.outbox.publish(&mut tx, &OrderPlaced { order_id }).await.unwrap();
        tx.commit().await.unwrap();
        published.event_id
    }

    fn work(&self) -> JoinHandle<()> {
        let outbox = self.outbox.clone();
        tokio::spawn(async move { outbox.run(std::future::pending()).await.unwrap() })
    }
}

/// An event crosses from one service to the other under its id, at the time at which it occurred, with its trace, and has its effect there.
/// A relay of everything over there does not send it back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_crosses_from_one_service_to_another() {
    let origin = Origin::start().await;
    let (shop, billing) = (Shop::new(&origin).await, Billing::new(&origin).await);
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let context = outbox::Metadata::new().correlation("request 7").tenant("acme").trace(trace, None);
    let id = shop.outbox.scope_with(context, shop.order(4711)).await;
    shop.outbox.drain().await.unwrap();
    let running = billing.run();
    billing.until_stored(1).await;
    billing.outbox.drain().await.unwrap();
    let row = "select occurred_at::text || ' ' || event_type || ' ' || subject_id || ' ' || payload::text || ' ' || (metadata - 'origin')::text
               from :schema.event";
    let mut rows = Vec::new();
    for sandbox in [&shop.sandbox, &billing.sandbox] {
        let text = row.replace(":schema", &format!("\"{}\"", sandbox.schema()));
        let text: String = sqlx::query_scalar(AssertSqlSafe(text)).fetch_one(sandbox.pool()).await.unwrap();
        rows.push(text);
    }
    assert_eq!(rows[0], rows[1]);
    assert!(rows[1].contains(trace) && rows[1].contains("request 7"), "{}", rows[1]);
    let jobs = billing.sandbox.jobs().await;
    assert_eq!((jobs.only().event_id, billing.booked().await), (Some(id), (1, 1)));
    let origins = format!("select count(*) from :schema.event where metadata->>'origin' = '{DURABLE}'");
    assert_eq!(billing.sandbox.number(&origins).await, 1);
    running.abort();
    // The same database also relays everything that it has.
    let nats = Nats::builder(format!("nats://{}", origin.address())).connect().await.unwrap();
    let relay = Relay::builder(nats, "/billing").prefix("contract").build().unwrap();
    let registry = linking(&["shop.relay"]);
    let bridge = billing.sandbox.outbox().registry(registry).state(relay.clone()).build().await.unwrap();
    bridge.replay("shop.relay").run().await.unwrap();
    bridge.drain().await.unwrap();
    let job = billing.sandbox.jobs().await.of("shop.relay");
    assert_eq!((job.only().status.as_str(), job.only().reason.as_deref()), ("succeeded", Some("discarded")));
    assert_eq!(
        (
            relay.status().confirmed,
            origin.0.jetstream().await.get_stream("CONTRACT").await.unwrap().cached_info().state.messages
        ),
        (0, 1)
    );
}

/// S2-2: the server stores and delivers one message twice, further apart than it remembers ids: one event, one effect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_stored_twice_has_one_effect() {
    let origin = Origin::start().await;
    let billing = Billing::new(&origin).await;
    let mut headers = HeaderMap::new();
    let id = outbox::EventId::from(uuid::Uuid::new_v4()).to_string();
    for (name, value) in [("ce-id", id.as_str()), ("ce-type", "order.placed.v1"), ("content-type", "application/json")]
    {
        headers.insert(name, value);
    }
    // Without `Nats-Msg-Id` there is no window at all.
    for _ in 0..2 {
        origin.send("contract.order.placed.v1", headers.clone(), br#"{"order_id":7}"#.to_vec()).await;
        let running = billing.run();
        outbox_testing::eventually("it is acknowledged", async || (origin.left().await == 0).then_some(())).await;
        running.abort();
        billing.outbox.drain().await.unwrap();
    }
    let status = billing.ingest.status();
    assert_eq!((status.received, status.stored, status.duplicates), (2, 1, 1));
    assert_eq!((billing.events().await, billing.booked().await), (1, (1, 1)));
}

/// O34, S2-38, S2-60: the server is killed with messages in hand, stays away, and is started again, while events are published all the time.
/// The outage shows, is measured, and nobody has to do anything: everything is consumed then, each has its effect once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consuming_goes_on_when_the_broker_is_back() {
    let mut origin = Origin::start().await;
    let (shop, billing) = (Shop::new(&origin).await, Billing::new(&origin).await);
    let (relaying, running) = (shop.work(), billing.run());
    for order in 0..100 {
        shop.order(order).await;
    }
    billing.until_stored(20).await;
    let mut orders = 100;
    for outage in 1..=2 {
        origin.kill().await;
        outbox_testing::eventually("the outage shows", async || billing.ingest.status().link.down_for).await;
        for order in orders..orders + 50 {
            shop.order(order).await;
        }
        orders += 50;
        let before = billing.ingest.status().link;
        assert!(before.last_error.is_some() && before.losses == outage, "{before:?}");
        origin.restart().await;
        billing.until_stored(orders).await;
        let after = billing.ingest.status().link;
        assert!(after.down_for.is_none() && after.down_total > before.down_total, "{after:?} behind {before:?}");
    }
    outbox_testing::eventually("all is acknowledged", async || (origin.left().await == 0).then_some(())).await;
    relaying.abort();
    running.abort();
    billing.outbox.drain().await.unwrap();
    assert_eq!((billing.events().await, billing.booked().await), (orders, (orders, orders)));
    assert_eq!(Quarantine::of(&billing.outbox).list(&Selection::all(), 10).await.unwrap(), []);
}

/// S2-71: two replicas consume from one consumer, one of them is killed in the middle: each event is there once, with one effect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_replicas_share_a_consumer_and_one_dies() {
    let origin = Origin::start().await;
    let (shop, billing) = (Shop::new(&origin).await, Billing::new(&origin).await);
    let other = Billing::ingest_from(&origin).await;
    let replica = Billing::outbox_on(&billing.sandbox).await;
    let (relaying, running) = (shop.work(), billing.run());
    let dying = tokio::spawn({
        let other = other.clone();
        async move { other.run(&replica, std::future::pending()).await }
    });
    for order in 0..200 {
        shop.order(order).await;
    }
    outbox_testing::eventually("both have some", async || {
        (other.status().received > 0 && billing.ingest.status().received > 0).then_some(())
    })
    .await;
    dying.abort();
    drop(other);
    billing.until_stored(200).await;
    outbox_testing::eventually("all is acknowledged", async || (origin.left().await == 0).then_some(())).await;
    relaying.abort();
    running.abort();
    billing.outbox.drain().await.unwrap();
    assert_eq!((billing.events().await, billing.booked().await), (200, (200, 200)));
}
