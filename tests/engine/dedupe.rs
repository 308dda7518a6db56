//! Publish keys: one event a key, whoever asks and however often, and the caller's transaction goes on.

use std::time::Duration;

use outbox::prelude::*;
use outbox::{Enqueued, PublishError, Published};
use outbox_testing::DEADLINE;
use sqlx::Executor;
use tokio::time::timeout;

use crate::enqueue::SendMail;
use crate::linkage::{linking, of_job, on, only_events};
use crate::sql::{assert_usable, code, pid, until_blocked};
use crate::support::{OrderPlaced, Shop};

async fn with_key(outbox: &Outbox, tx: &mut outbox::OutboxTransaction, order: &str, key: &str) -> Published {
    outbox.publish(tx, &OrderPlaced::of(order)).key(key).await.unwrap()
}

/// O25, S0-9: the second publish of a key within one transaction answers the first one's id, writes nothing, and leaves the
/// transaction usable.
#[tokio::test]
async fn a_key_published_twice_in_one_transaction_is_one_event() {
    let shop = Shop::new().await;
    let outbox = shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let first = with_key(&outbox, &mut tx, "first", "k").await;
    let second = with_key(&outbox, &mut tx, "second", "k").await;
    assert_eq!(first, Published { event_id: first.event_id, jobs: 1, duplicate: false });
    assert_eq!(second, Published { event_id: first.event_id, jobs: 0, duplicate: true });
    assert_usable(tx, &shop.sandbox).await;
    assert_eq!(shop.sandbox.published::<OrderPlaced>().await, [OrderPlaced::of("first")]);
    assert_eq!(shop.sandbox.jobs().await.len(), 1);
}

/// O25, S0-9: a business transaction that is repeated after its commit publishes nothing a second time.
#[tokio::test]
async fn a_key_published_again_later_is_one_event() {
    let shop = Shop::new().await;
    let outbox = shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
    let mut ids = Vec::new();
    for order in ["first", "again"] {
        let mut tx = outbox.begin().await.unwrap();
        ids.push(with_key(&outbox, &mut tx, order, "k").await.event_id);
        assert_usable(tx, &shop.sandbox).await;
        outbox.drain().await.unwrap();
    }
    assert_eq!(ids[0], ids[1]);
    assert_eq!(shop.sandbox.published::<OrderPlaced>().await, [OrderPlaced::of("first")]);
    assert_eq!(shop.sandbox.jobs().await.len(), 1);
}

/// A publisher that says nothing any more keeps its key until the server ends its transaction, as `idle_in_transaction_session_timeout`
/// says; whoever repeats it waits that long and publishes then. With a `lock_timeout` he is told instead.
#[tokio::test]
async fn a_publisher_that_vanished_keeps_its_key_until_the_server_ends_it() {
    let shop = Shop::new().await;
    let outbox = shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
    let mut vanished = outbox.begin().await.unwrap();
    with_key(&outbox, &mut vanished, "first", "k").await;

    let mut hasty = outbox.begin().await.unwrap();
    hasty.execute("set local lock_timeout = '100ms'").await.unwrap();
    let refused = outbox.publish(&mut hasty, &OrderPlaced::of("hasty")).key("k").await.unwrap_err();
    let PublishError::Database { source, .. } = refused else { panic!("{refused}") };
    assert_eq!(code(&source), "55P03");
    hasty.rollback().await.unwrap();

    vanished.execute("set local idle_in_transaction_session_timeout = '500ms'").await.unwrap();
    let mut patient = outbox.begin().await.unwrap();
    let repeated = timeout(DEADLINE, with_key(&outbox, &mut patient, "second", "k")).await.unwrap();
    assert!(!repeated.duplicate);
    patient.commit().await.unwrap();
    assert!(vanished.commit().await.is_err());
    assert_eq!(shop.sandbox.published::<OrderPlaced>().await, [OrderPlaced::of("second")]);
}

/// O25: a second publisher of a key that another transaction has published and not committed waits for it, gets its id when it
/// commits, and its own transaction stays usable.
#[tokio::test]
async fn a_concurrent_publisher_waits_and_gets_the_first_ones_id() {
    let shop = Shop::new().await;
    let outbox = shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
    let mut winner = outbox.begin().await.unwrap();
    let first = with_key(&outbox, &mut winner, "first", "k").await;
    let mut loser = outbox.begin().await.unwrap();
    let waiting = pid(&mut loser).await;
    let handle = outbox.clone();
    let second = tokio::spawn(async move { (with_key(&handle, &mut loser, "second", "k").await, loser) });
    until_blocked(shop.sandbox.pool(), waiting).await;
    winner.commit().await.unwrap();
    let (second, loser) = second.await.unwrap();
    assert_eq!(second, Published { event_id: first.event_id, jobs: 0, duplicate: true });
    assert_usable(loser, &shop.sandbox).await;
    assert_eq!(shop.sandbox.published::<OrderPlaced>().await, [OrderPlaced::of("first")]);
    assert_eq!(shop.sandbox.jobs().await.len(), 1);
}

/// O25: when the first publisher rolls back, the one that waited publishes.
#[tokio::test]
async fn a_concurrent_publisher_publishes_when_the_first_rolls_back() {
    let shop = Shop::new().await;
    let outbox = shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
    let mut first = outbox.begin().await.unwrap();
    with_key(&outbox, &mut first, "first", "k").await;
    let mut second = outbox.begin().await.unwrap();
    let waiting = pid(&mut second).await;
    let handle = outbox.clone();
    let published = tokio::spawn(async move { (with_key(&handle, &mut second, "second", "k").await, second) });
    until_blocked(shop.sandbox.pool(), waiting).await;
    first.rollback().await.unwrap();
    let (published, second) = published.await.unwrap();
    assert_eq!((published.jobs, published.duplicate), (1, false));
    second.commit().await.unwrap();
    assert_eq!(shop.sandbox.published::<OrderPlaced>().await, [OrderPlaced::of("second")]);
    assert_eq!(shop.sandbox.jobs().await.only().event_id, Some(published.event_id));
}

/// O25: many publishers of one key at once make one event, and all of them are told its id.
#[tokio::test]
async fn many_publishers_of_one_key_agree() {
    let shop = Shop::new().await;
    let outbox = shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
    let publishers: Vec<_> = (0..10)
        .map(|n| {
            let outbox = outbox.clone();
            tokio::spawn(async move {
                let mut tx = outbox.begin().await.unwrap();
                let published = with_key(&outbox, &mut tx, &format!("o{n}"), "k").await;
                tx.commit().await.unwrap();
                published
            })
        })
        .collect();
    let mut published = Vec::new();
    for publisher in publishers {
        published.push(publisher.await.unwrap());
    }
    assert_eq!(published.iter().filter(|one| !one.duplicate).count(), 1);
    assert!(published.iter().all(|one| one.event_id == published[0].event_id));
    assert_eq!(shop.sandbox.jobs().await.len(), 1);
}

/// S0-9: a key that stands several times in one `publish_all` is one event, the first; keys before and behind it are their own.
#[tokio::test]
async fn a_key_twice_in_one_batch_is_the_first_event() {
    let shop = Shop::new().await;
    let outbox = shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
    let events: Vec<_> = ["a", "b", "c", "d", "e"].map(OrderPlaced::of).into();
    let mut tx = outbox.begin().await.unwrap();
    let published = outbox.publish_all(&mut tx, &events).keys(["x", "y", "x", "y", "z"]).await.unwrap();
    assert_eq!(published.iter().map(|one| one.duplicate).collect::<Vec<_>>(), [false, false, true, true, false]);
    assert_eq!((published[2].event_id, published[3].event_id), (published[0].event_id, published[1].event_id));
    assert_usable(tx, &shop.sandbox).await;
    assert_eq!(shop.sandbox.jobs().await.len(), 3);
    let mut stored = shop.sandbox.published::<OrderPlaced>().await;
    stored.sort_by(|one, other| one.order_id.cmp(&other.order_id));
    assert_eq!(stored, ["a", "b", "e"].map(OrderPlaced::of));
}

/// S0-9: a key is one event also when the batch is so long that its two places fall into two statements.
#[tokio::test]
async fn a_key_twice_in_two_statements_is_the_first_event() {
    let shop = Shop::new().await;
    let outbox = shop.bare(only_events()).build().await.unwrap();
    let events: Vec<_> = (0..2_000).map(|n| OrderPlaced::of(format!("o{n}"))).collect();
    let keys = (0..2_000).map(|n| if n == 1_999 { "k0".to_owned() } else { format!("k{n}") });
    let mut tx = outbox.begin().await.unwrap();
    let published = outbox.publish_all(&mut tx, &events).keys(keys).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(published[1_999], Published { event_id: published[0].event_id, jobs: 0, duplicate: true });
    assert!(published[..1_999].iter().all(|one| !one.duplicate));
    assert_eq!(shop.sandbox.number("select count(*) from :schema.event where subject_id in ('o0', 'o1999')").await, 1);
}

/// S0-9: events beyond the last key have none, and are published each time.
#[tokio::test]
async fn events_without_a_key_are_published_each_time() {
    let shop = Shop::new().await;
    let outbox = shop.bare(only_events()).build().await.unwrap();
    let events = ["a", "b"].map(OrderPlaced::of);
    for expected in [[false, false], [true, false]] {
        let mut tx = outbox.begin().await.unwrap();
        let published = outbox.publish_all(&mut tx, &events).keys(["k"]).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!([published[0].duplicate, published[1].duplicate], expected);
    }
    assert_eq!(shop.sandbox.number("select count(*) from :schema.event").await, 3);
}

/// O25: two batches with the same keys in opposite order wait for each other in one order only, so neither is a deadlock's victim.
/// They are long enough to be several statements each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_with_keys_in_opposite_order_do_not_deadlock() {
    const COUNT: usize = 2_500;
    let shop = Shop::new().await;
    let outbox = shop.bare(only_events()).build().await.unwrap();
    for round in 0..4 {
        let publishers: Vec<_> = [false, true]
            .map(|backwards| {
                let outbox = outbox.clone();
                tokio::spawn(async move {
                    let mut keys: Vec<_> = (0..COUNT).map(|n| format!("r{round} k{n}")).collect();
                    if backwards {
                        keys.reverse();
                    }
                    let events: Vec<_> = keys.iter().map(OrderPlaced::of).collect();
                    let mut tx = outbox.begin().await.unwrap();
                    let published = outbox.publish_all(&mut tx, &events).keys(keys).await.unwrap();
                    tx.commit().await.unwrap();
                    published.iter().filter(|one| !one.duplicate).count()
                })
            })
            .into();
        let mut fresh = 0;
        for publisher in publishers {
            fresh += publisher.await.unwrap();
        }
        assert_eq!(fresh, COUNT);
    }
    assert_eq!(shop.sandbox.number("select count(*) from :schema.event").await, 4 * 2_500);
}

/// S0-9: a key belongs to the event's type: another event and a job may use the same, and a job's second time is one job.
#[tokio::test]
async fn a_key_belongs_to_its_message() {
    let shop = Shop::new().await;
    let registry = linking([of_job("mail.send")]);
    let outbox = shop.bare(registry).build().await.unwrap();
    let mail = SendMail { to: "ann".into() };
    let mut tx = outbox.begin().await.unwrap();
    with_key(&outbox, &mut tx, "o1", "k").await;
    assert!(!outbox.publish(&mut tx, &MailSent).key("k").await.unwrap().duplicate);
    let first = outbox.enqueue(&mut tx, &mail).key("k").await.unwrap();
    let second = outbox.enqueue(&mut tx, &mail).key("k").delay(Duration::from_secs(1)).await.unwrap();
    assert_eq!(first, Enqueued { job_id: first.job_id, duplicate: false });
    assert_eq!(second, Enqueued { job_id: first.job_id, duplicate: true });
    assert_usable(tx, &shop.sandbox).await;
    assert_eq!(shop.sandbox.number("select count(*) from :schema.event").await, 2);
    assert_eq!(shop.sandbox.jobs().await.only().id, first.job_id);
}

/// An event of the same name as a job, which is allowed.
#[event("mail.send")]
struct MailSent;

/// S0-9: two jobs of one key, enqueued at once by two transactions, are one.
#[tokio::test]
async fn a_concurrent_enqueue_of_a_key_is_one_job() {
    let shop = Shop::new().await;
    let outbox = shop.bare(linking([of_job("mail.send")])).build().await.unwrap();
    let mail = SendMail { to: "ann".into() };
    let mut winner = outbox.begin().await.unwrap();
    let first = outbox.enqueue(&mut winner, &mail).key("k").await.unwrap();
    let mut loser = outbox.begin().await.unwrap();
    let waiting = pid(&mut loser).await;
    let handle = outbox.clone();
    let second = tokio::spawn(async move {
        let mail = SendMail { to: "bob".into() };
        (handle.enqueue(&mut loser, &mail).key("k").await.unwrap(), loser)
    });
    until_blocked(shop.sandbox.pool(), waiting).await;
    winner.commit().await.unwrap();
    let (second, loser) = second.await.unwrap();
    assert_eq!(second, Enqueued { job_id: first.job_id, duplicate: true });
    assert_usable(loser, &shop.sandbox).await;
    assert_eq!(shop.sandbox.jobs().await.len(), 1);
}
