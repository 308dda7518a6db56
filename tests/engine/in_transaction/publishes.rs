//! It publishes in its turn, and runs in whatever transaction publishes.

use outbox::prelude::*;

use super::{AuditKept, Audited, WishUttered, of};
use crate::sql::{assert_usable, texts};
use crate::support::OrderPlaced;

/// Publishes a fact of its own for each event, those included.
#[subscriber(event = "*", name = "echo.answer", in_transaction)]
async fn answer(event: Envelope, mut tx: Tx<'_>) -> HandlerResult {
    AuditKept { of: event.subject.id.unwrap_or_default() }.publish(&mut tx).await?;
    Ok(())
}

/// An ordinary handler that publishes in its own transaction.
#[subscriber(event = "order.placed", name = "wishes.utter", max_attempts = 1)]
async fn utter(order: OrderPlaced, mut tx: Tx<'_>) -> HandlerResult {
    WishUttered { wish: order.order_id }.publish(&mut tx).await?;
    Ok(())
}

/// What a subscriber publishes is published: with its own subscribers, its correlation and its cause. Its error is the subscriber's to
/// take or to pass on.
#[tokio::test]
async fn what_it_publishes_itself_is_published() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["audit.keep", "wishes.grant"]).await;
    let mut tx = outbox.begin().await.unwrap();
    let first = outbox.publish(&mut tx, &of("more")).actor("ann").await.unwrap();
    outbox.publish(&mut tx, &of("more, if possible")).await.unwrap();
    tx.commit().await.unwrap();
    let notes = audited.shop.script.notes();
    assert_eq!(notes[..4], ["more", "one more", "more, if possible", "an error"]);
    assert!(notes[4].ends_with("failed: no wish left"), "{notes:?}");
    let rows =
        "select subject_id || ' ' || coalesce(metadata->>'actor', '-') || ' ' || coalesce(metadata->>'causation', '-')
                from :schema.event order by id";
    let caused = format!("one more ann {}", first.event_id);
    assert_eq!(texts(&audited.shop.sandbox, rows).await, ["more ann -", &caused, "more, if possible - -"]);
    assert_eq!(audited.audited().await, 3);
}

/// Subscribers that publish what they receive come to an end: the whole publish is refused, and the transaction goes on.
#[tokio::test]
async fn publishing_within_each_other_has_an_end() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["audit.keep", "echo.answer"]).await;
    let mut tx = outbox.begin().await.unwrap();
    let error = outbox.publish(&mut tx, &of("a")).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("publish within each other, 8 deep; does one of them receive what it publishes?"), "{text}");
    assert_usable(tx, &audited.shop.sandbox).await;
    assert_eq!((audited.events().await, audited.audited().await), (0, 0));
}

/// It is run by whoever publishes: a handler in its own transaction, too. When it fails there, the handler's job does.
#[tokio::test]
async fn a_handlers_own_publish_runs_it_in_the_handlers_transaction() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["audit.keep", "wishes.utter", "wishes.grant"]).await;
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish_all(&mut tx, &["fine", "an error"].map(OrderPlaced::of)).await.unwrap();
    tx.commit().await.unwrap();
    outbox.drain().await.unwrap();
    let rows = "select action || ' ' || subject_id from :schema.audit_log order by 1";
    assert_eq!(
        texts(&audited.shop.sandbox, rows).await,
        ["order.placed an error", "order.placed fine", "wish.uttered fine"]
    );
    let jobs = "select status || coalesce(': ' || last_error, '') from :schema.job order by 1";
    let jobs = texts(&audited.shop.sandbox, jobs).await;
    assert_eq!(jobs.len(), 2);
    assert!(jobs[0].starts_with("failed: `wish.uttered` was not published"), "{jobs:?}");
    assert_eq!(jobs[1], "succeeded");
}
