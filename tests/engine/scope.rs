//! To which outbox a `publish` belongs, and in which context it happens.

use std::time::Duration;

use outbox::prelude::*;
use outbox::{Metadata, PublishError};

use crate::alone::alone;
use crate::enqueue::SendMail;
use crate::linkage::only_events;
use crate::sql::{assert_usable, texts};
use crate::support::{OrderPlaced, Shop, publish};

/// A parcel left the house.
#[event("parcel.sent")]
struct ParcelSent {
    #[subject]
    order_id: String,
}

/// Publishes and enqueues in its transaction, by the trait's methods alone.
#[subscriber(event = "order.placed", name = "shipping.send")]
async fn ship(order: OrderPlaced, mut tx: Tx<'_>) -> HandlerResult {
    ParcelSent { order_id: order.order_id.clone() }.publish(&mut tx).await?;
    [ParcelSent { order_id: order.order_id.clone() }].publish_all(&mut tx).await?;
    SendMail { to: order.order_id }.enqueue(&mut tx).delay(Duration::from_hours(1)).await?;
    Ok(())
}

/// What `shipping.send` does, without a transaction of its own and in a task that it spawns.
#[subscriber(event = "order.placed", name = "shipping.spawn", idempotent = "it only tries")]
async fn spawn(
    _: OrderPlaced,
    State(shop): State<Pool>,
    State(script): State<crate::support::Script>,
) -> HandlerResult {
    let task = tokio::spawn(async move {
        let mut tx = shop.0.begin().await?;
        Ok::<_, sqlx::Error>(ParcelSent { order_id: "spawned".into() }.publish(&mut tx).await)
    });
    match task.await?? {
        Ok(published) => script.note(format!("published {}", published.jobs)),
        Err(error) => script.note(error.to_string()),
    }
    Ok(())
}

#[derive(Clone)]
struct Pool(sqlx::PgPool);

/// S0-7: in a process that has built no outbox a publish says so, and what to do; the transaction goes on.
#[tokio::test]
async fn without_an_outbox_a_publish_says_so() {
    if !alone("scope::without_an_outbox_a_publish_says_so").await {
        return;
    }
    let shop = Shop::new().await;
    let mut tx = shop.sandbox.pool().begin().await.unwrap();
    let refused = OrderPlaced::of("o1").publish(&mut tx).await.unwrap_err();
    assert!(matches!(refused, PublishError::NoOutbox { name: "order.placed" }));
    assert_eq!(
        refused.to_string(),
        "`order.placed` was not published: no `Outbox` is built in this process; call `Outbox::builder(pool).build().await` first \
         and keep it"
    );
    let all = [OrderPlaced::of("o1")].publish_all(&mut tx).await.unwrap_err();
    let job = SendMail { to: "ann".into() }.enqueue(&mut tx).await.unwrap_err();
    assert!(matches!(all, PublishError::NoOutbox { name: "order.placed" }));
    assert!(matches!(job, PublishError::NoOutbox { name: "mail.send" }));
    tx.commit().await.unwrap();
    // One that is gone does not count.
    drop(shop.bare(only_events()).build().await.unwrap());
    let mut tx = shop.sandbox.pool().begin().await.unwrap();
    assert!(matches!(OrderPlaced::of("o1").publish(&mut tx).await, Err(PublishError::NoOutbox { .. })));
}

/// S0-7: the only outbox of a process is meant without being named.
#[tokio::test]
async fn the_only_outbox_is_meant() {
    if !alone("scope::the_only_outbox_is_meant").await {
        return;
    }
    let shop = Shop::new().await;
    let outbox = shop.bare(only_events()).build().await.unwrap();
    let clone = outbox.clone();
    let mut tx = outbox.begin().await.unwrap();
    OrderPlaced::of("o1").publish(&mut tx).await.unwrap();
    [OrderPlaced::of("o2")].publish_all(&mut tx).await.unwrap();
    SendMail { to: "ann".into() }.enqueue(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(shop.sandbox.published::<OrderPlaced>().await.len(), 2);
    assert_eq!(shop.sandbox.jobs().await.len(), 1);
    drop((outbox, clone));
}

/// S0-7: with several outboxes a publish that does not say which is refused, with their number; `outbox.publish(..)` and
/// `outbox.scope(..)` say it.
#[tokio::test]
async fn several_outboxes_are_told_apart() {
    if !alone("scope::several_outboxes_are_told_apart").await {
        return;
    }
    let (one, other) = (Shop::new().await, Shop::new().await);
    let first = one.bare(only_events()).build().await.unwrap();
    let second = other.bare(only_events()).build().await.unwrap();
    let mut tx = first.begin().await.unwrap();
    let refused = OrderPlaced::of("o1").publish(&mut tx).await.unwrap_err();
    assert!(matches!(refused, PublishError::SeveralOutboxes { name: "order.placed", count: 2 }));
    assert_eq!(
        refused.to_string(),
        "`order.placed` was not published: 2 outboxes are built in this process; say which with `outbox.publish(&mut tx, &event)` or \
         `outbox.scope(..)`"
    );
    first.publish(&mut tx, &OrderPlaced::of("said")).await.unwrap();
    second.scope(async { OrderPlaced::of("scoped").publish(&mut tx).await.unwrap() }).await;
    let inner = second.scope(first.scope(async { OrderPlaced::of("inner").publish(&mut tx).await.unwrap() }));
    inner.await;
    assert_usable(tx, &one.sandbox).await;
    let subjects = "select subject_id from :schema.event order by id";
    assert_eq!(texts(&one.sandbox, subjects).await, ["said", "inner"]);
    assert_eq!(texts(&other.sandbox, subjects).await, ["scoped"]);
    drop(second);
    let mut tx = first.begin().await.unwrap();
    OrderPlaced::of("alone again").publish(&mut tx).await.unwrap();
}

/// S0-7: what a handler publishes belongs to the outbox that runs it, however many there are in the process, commits with its
/// effect, and carries the correlation and the cause on.
#[tokio::test]
async fn a_handler_publishes_through_its_own_outbox() {
    let (shop, other) = (Shop::new().await, Shop::new().await);
    let _other = other.bare(only_events()).build().await.unwrap();
    let outbox = shop.outbox(&["shipping.send"]).build().await.unwrap();
    let first = publish(&outbox, "o1").await;
    outbox.drain().await.unwrap();
    let jobs = shop.sandbox.jobs().await;
    assert_eq!((jobs.of("shipping.send").only().status.as_str(), jobs.of("mail.send").len()), ("succeeded", 1));
    let stored =
        texts(&shop.sandbox, "select metadata::text from :schema.event where event_type = 'parcel.sent'").await;
    assert_eq!(stored.len(), 2);
    let job = texts(&shop.sandbox, "select metadata::text from :schema.job where job_type = 'mail.send'").await;
    for context in stored.iter().chain(&job) {
        let context: Metadata = serde_json::from_str(context).unwrap();
        assert_eq!(context.correlation, Some(first.event_id.to_string()));
        assert_eq!(context.causation, Some(first.event_id));
    }
}

/// A correlation that the first publish was given is carried on instead of its id, with actor, tenant and headers.
#[tokio::test]
async fn a_follow_up_carries_the_context_on() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["shipping.send"]).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let order = OrderPlaced::of("o1");
    let publishing =
        outbox.publish(&mut tx, &order).correlation("request 7").actor("ann").tenant("acme").header("a", "b");
    let first = publishing.await.unwrap();
    tx.commit().await.unwrap();
    outbox.drain().await.unwrap();
    let stored =
        texts(&shop.sandbox, "select metadata::text from :schema.event where event_type = 'parcel.sent'").await;
    let context: Metadata = serde_json::from_str(&stored[0]).unwrap();
    let expected = Metadata {
        correlation: Some("request 7".into()),
        causation: Some(first.event_id),
        actor: Some("ann".into()),
        tenant: Some("acme".into()),
        headers: [("a".to_owned(), "b".to_owned())].into(),
        ..Metadata::default()
    };
    assert_eq!(context, expected);
}

/// S0-7: a task that a handler spawns is outside of its scope: with several outboxes in the process its publish is refused rather
/// than guessed.
#[tokio::test]
async fn a_spawned_task_is_outside_of_the_scope() {
    let (shop, other) = (Shop::new().await, Shop::new().await);
    let _other = other.bare(only_events()).build().await.unwrap();
    let registry = outbox::Registry::linked().with_subscribers(|one| one.name == "shipping.spawn");
    let outbox = shop.bare(registry).state(Pool(shop.sandbox.pool().clone())).build().await.unwrap();
    publish(&outbox, "o1").await;
    outbox.drain().await.unwrap();
    let notes = shop.script.notes();
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("say which with `outbox.publish(&mut tx, &event)`"), "{notes:?}");
}
