//! From one service's database over a quorum queue into another's, with a broker that is killed in between, and messages that are no events.

use std::time::Duration;

use outbox::prelude::*;
use outbox::{Outbox, Registry};
use outbox_amqp::{Amqp, AmqpSource};
use outbox_ingest::contract::{Origin as _, Published};
use outbox_ingest::{Ingest, Quarantine, Selection};
use outbox_relay::Relay;
use outbox_relay::contract::PATIENCE;
use outbox_testing::{Sandbox, eventually};
use sqlx::AssertSqlSafe;
use tokio::task::JoinHandle;

use crate::node::url;
use crate::relay::OrderPlaced;
use crate::source::{Queue, properties};

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
    ingest: Ingest<AmqpSource>,
}

impl Billing {
    async fn new(queue: &Queue) -> Self {
        let source = queue.builder(queue.address()).bind(exchange(queue), ["order.#"]).connect().unwrap();
        source.ready(PATIENCE).await.unwrap();
        let ingest = Ingest::builder(source).prefetch(50).build().unwrap();
        let sandbox = Sandbox::new().await;
        sandbox.execute("create table :schema.booking (order_id bigint not null)").await;
        let bookings = Bookings(sandbox.table("booking"));
        let outbox = sandbox.outbox().registry(linking(&["billing.book"])).state(bookings).build().await.unwrap();
        Self { sandbox, outbox, ingest }
    }

    fn run(&self) -> JoinHandle<()> {
        let (ingest, outbox) = (self.ingest.clone(), self.outbox.clone());
        tokio::spawn(async move { ingest.run(&outbox, std::future::pending()).await })
    }

    async fn events(&self) -> i64 {
        self.sandbox.number("select count(*) from :schema.event").await
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

    async fn booked(&self) -> (i64, i64) {
        let all = self.sandbox.number("select count(*) from :schema.booking").await;
        (all, self.sandbox.number("select count(distinct order_id) from :schema.booking").await)
    }
}

fn exchange(queue: &Queue) -> String {
    format!("x.{}", queue.name)
}

/// O34, S2-38, S2-60: the broker is killed with messages in hand, stays away, and is started again, while events are published all the time. The outage
/// shows, is measured, and nobody has to do anything: everything is consumed then, each event is there once and has its effect once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn consuming_goes_on_when_the_broker_is_back() {
    let mut queue = Queue::start().await;
    let billing = Billing::new(&queue).await;
    let amqp = Amqp::builder(url(queue.address()), exchange(&queue)).connect().unwrap();
    amqp.ready(PATIENCE).await.unwrap();
    let short = Duration::from_millis(200);
    let relay = Relay::builder(amqp, "/shop").pauses(short, 4 * short).build().unwrap();
    let sandbox = Sandbox::new().await;
    let shop = sandbox.outbox().registry(linking(&["shop.relay"])).state(relay).build().await.unwrap();
    let order = async |order_id: i64| {
        let mut tx = shop.begin().await.unwrap();
        shop.publish(&mut tx, &OrderPlaced { order_id }).await.unwrap();
        tx.commit().await.unwrap();
    };
    let relaying = {
        let shop = shop.clone();
        tokio::spawn(async move { shop.run(std::future::pending()).await.unwrap() })
    };
    let running = billing.run();
    for number in 0..60 {
        order(number).await;
    }
    billing.until_stored(10).await;
    queue.kill().await;
    eventually("the outage shows", async || billing.ingest.status().link.down_for).await;
    for number in 60..100 {
        order(number).await;
    }
    let before = billing.ingest.status().link;
    assert!(before.last_error.is_some() && before.losses == 1, "{before:?}");
    queue.restart().await;
    billing.until_stored(100).await;
    let after = billing.ingest.status().link;
    assert!(after.down_for.is_none() && after.down_total > before.down_total, "{after:?} behind {before:?}");
    let acknowledged = async {
        while queue.left().await > 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, acknowledged).await.expect("everything is acknowledged");
    relaying.abort();
    running.abort();
    billing.outbox.drain().await.unwrap();
    assert_eq!((billing.events().await, billing.booked().await), (100, (100, 100)));
    assert_eq!(
        sandbox.number("select max(attempts)::bigint from :schema.job_succeeded").await,
        1,
        "nothing is charged"
    );
    assert_eq!(Quarantine::of(&billing.outbox).list(&Selection::all(), 10).await.unwrap(), []);
}

fn order(id: &str) -> Published {
    let attributes = [("specversion", "1.0"), ("id", id), ("type", "order.placed.v1")];
    let attributes = attributes.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Published { attributes, traceparent: None, odd: None, body: br#"{"order_id":7}"#.to_vec() }
}

/// S2-32: a header that is no text, as another producer's table, neither has the message acknowledged and lost nor delivered for ever: it is in
/// quarantine with its reason, and what stands behind it is an event. Either prefix of attributes is read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_header_that_is_no_text_goes_to_quarantine_and_others_pass() {
    let queue = Queue::start().await;
    let billing = Billing::new(&queue).await;
    let id = || outbox::EventId::from(uuid::Uuid::new_v4()).to_string();
    let mut odd = order(&id());
    odd.odd = Some("subject".to_owned());
    queue.publish(&odd).await;
    for prefix in ["cloudEvents:", "cloudEvents_"] {
        let good = order(&id());
        queue.publish_with(properties(&good, prefix), &good.body).await;
    }
    let running = billing.run();
    billing.until_stored(2).await;
    let quarantine = Quarantine::of(&billing.outbox);
    let rows = eventually("it is in quarantine", async || {
        Some(quarantine.list(&Selection::all(), 10).await.unwrap()).filter(|rows| !rows.is_empty())
    })
    .await;
    assert_eq!((rows.len(), rows[0].class.as_str()), (1, "undecodable"), "{rows:?}");
    assert!(rows[0].reason.contains("subject"), "{rows:?}");
    eventually("it is acknowledged", async || {
        let status = billing.ingest.status();
        (status.held == 0 && status.quarantined == 1).then_some(())
    })
    .await;
    running.abort();
    assert_eq!((queue.left().await, billing.events().await), (0, 2));
}
