//! Publishing many at once: events of one type, in few statements, all or none.

use outbox::PublishError;

use crate::linkage::{linking, on, only_events};
use crate::sql::{assert_usable, texts};
use crate::support::{OrderPlaced, Shop};
use crate::wire::Wire;

fn orders(count: usize) -> Vec<OrderPlaced> {
    (0..count).map(|n| OrderPlaced::of(format!("o{n:05}"))).collect()
}

/// S0-9, S0-10: ten thousand events with two subscribers are written by exactly ten statements, in ten round trips.
#[tokio::test]
async fn ten_thousand_events_are_ten_statements() {
    let shop = Shop::new().await;
    let wire = Wire::default();
    let pool = wire.pool(&shop.sandbox).await;
    let registry = linking([on("inventory.count", "order.placed"), on("search.index", "order.*")]);
    let outbox = shop.sandbox.outbox_on(pool).registry(registry).poll_only().build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("first")).await.unwrap();
    wire.take();
    let published = outbox.publish_all(&mut tx, &orders(10_000)).await.unwrap();
    let sent = wire.take();
    tx.commit().await.unwrap();
    assert_eq!((sent.statements(), sent.round_trips()), (10, 10), "{sent:?}");
    assert_eq!(published.len(), 10_000);
    assert!(published.iter().all(|one| one.jobs == 2 && !one.duplicate));
    assert_eq!(shop.sandbox.number("select count(*) from :schema.event").await, 10_001);
    assert_eq!(shop.sandbox.number("select count(distinct (event_id, job_type)) from :schema.job_live").await, 20_002);
}

/// S0-9: answers come in the order of the events, each with its own event's id.
#[tokio::test]
async fn answers_come_in_the_order_of_the_events() {
    let shop = Shop::new().await;
    let outbox = shop.bare(only_events()).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let published = outbox.publish_all(&mut tx, &orders(2_500)).await.unwrap();
    tx.commit().await.unwrap();
    let stored = texts(&shop.sandbox, "select id::text || subject_id from :schema.event order by subject_id").await;
    let answered: Vec<_> = published
        .iter()
        .zip(orders(2_500))
        .map(|(one, order)| format!("{}{}", one.event_id.as_uuid(), order.order_id))
        .collect();
    assert_eq!(answered, stored);
}

/// S0-8: one event that cannot be stored keeps all of them from being sent, and the transaction goes on.
#[tokio::test]
async fn one_refused_event_leaves_nothing_of_the_others() {
    let shop = Shop::new().await;
    let outbox = shop.bare(only_events()).build().await.unwrap();
    let mut events = orders(1_500);
    events.push(OrderPlaced::of("nul \0"));
    let mut tx = outbox.begin().await.unwrap();
    let refused = outbox.publish_all(&mut tx, &events).await.unwrap_err();
    assert!(matches!(refused, PublishError::Payload { name: "order.placed", .. }), "{refused}");
    assert_usable(tx, &shop.sandbox).await;
    assert!(shop.sandbox.published::<OrderPlaced>().await.is_empty());
}

/// S0-8: a rollback leaves nothing of several statements.
#[tokio::test]
async fn a_rollback_leaves_nothing_of_any_statement() {
    let shop = Shop::new().await;
    let outbox = shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish_all(&mut tx, &orders(2_001)).await.unwrap();
    tx.rollback().await.unwrap();
    assert!(shop.sandbox.published::<OrderPlaced>().await.is_empty());
    assert!(shop.sandbox.jobs().await.is_empty());
}

/// S0-9: publishing no events is no error and writes nothing.
#[tokio::test]
async fn publishing_none_is_no_error() {
    let shop = Shop::new().await;
    let outbox = shop.bare(linking([on("inventory.count", "order.placed")])).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    assert!(outbox.publish_all::<OrderPlaced>(&mut tx, &[]).await.unwrap().is_empty());
    tx.commit().await.unwrap();
    assert!(shop.sandbox.jobs().await.is_empty());
}

/// S0-2: the context of the call is stored with each of its events.
#[tokio::test]
async fn every_event_has_the_context() {
    let shop = Shop::new().await;
    let outbox = shop.bare(only_events()).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish_all(&mut tx, &orders(3)).actor("import").tenant("acme").await.unwrap();
    tx.commit().await.unwrap();
    let contexts =
        texts(&shop.sandbox, "select (metadata ->> 'actor') || ' ' || (metadata ->> 'tenant') from :schema.event");
    assert_eq!(contexts.await, ["import acme"; 3]);
}
