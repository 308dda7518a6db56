//! One that fails, waits or does not fit fails the publish, and not the transaction.

use std::time::Duration;

use outbox::{OutboxTransaction, PublishError};
use sqlx::AssertSqlSafe;

use super::{Audited, of};
use crate::linkage::{linking, on};
use crate::sql::assert_usable;

/// S1-2: an error fails the publish and names event, subscriber and cause. What was written for the event is undone, by the others too;
/// the transaction goes on without it, and commits.
#[tokio::test]
async fn an_error_fails_the_publish_and_not_the_transaction() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["audit.keep", "wishes.grant"]).await;
    let begins = "`wish.uttered` was not published: its in-transaction subscriber `wishes.grant` failed: ";
    for (wish, why) in [
        ("an error", "no wish left"),
        ("a discard", "no wish left"),
        ("a panic", "it panicked: the lamp broke"),
        ("to wait", "it timed out after 1s"),
        ("a mistake", "it left the transaction aborted: "),
    ] {
        let error = audited.refused(&outbox, wish).await;
        assert!(matches!(&error, PublishError::Subscriber { name: "wish.uttered", handler: "wishes.grant", .. }));
        let text = error.to_string();
        assert!(text.starts_with(&format!("{begins}{why}")), "{text}");
    }
}

/// A part of a batch is no part: when one fails, none of the others is left.
#[tokio::test]
async fn one_that_fails_undoes_its_whole_batch() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["audit.keep", "wishes.grant"]).await;
    let mut tx = outbox.begin().await.unwrap();
    let error = outbox.publish_all(&mut tx, &["a", "an error", "b"].map(of)).await.unwrap_err();
    assert!(matches!(error, PublishError::Subscriber { .. }));
    outbox.publish_all(&mut tx, &["c", "d"].map(of)).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!((audited.events().await, audited.audited().await, audited.shop.effects().await), (2, 2, 2));
    assert_eq!(audited.shop.script.notes(), ["a", "an error", "c", "d"]);
}

/// A subscriber that waits for a lock does not wait on behind its end: the server ends its statement too. The caller's own limit is
/// the same before and behind, and a shorter one stays while it runs.
#[tokio::test]
async fn one_that_waits_for_a_lock_ends() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["wishes.grant"]).await;
    let mut holder = audited.shop.sandbox.pool().begin().await.unwrap();
    let lock = format!("lock table {} in exclusive mode", audited.shop.sandbox.table("effect"));
    sqlx::query(AssertSqlSafe(lock)).execute(&mut *holder).await.unwrap();
    for (own, why) in [("0", "it timed out after 1s"), ("100ms", "canceling statement due to statement timeout")] {
        let mut tx = outbox.begin().await.unwrap();
        limit(&mut tx, own).await;
        let publish = std::future::IntoFuture::into_future(outbox.publish(&mut tx, &of("a")));
        let error = tokio::time::timeout(Duration::from_secs(20), publish).await.expect("it ends").unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(limit_of(&mut tx).await, own);
        tx.commit().await.unwrap();
    }
    holder.rollback().await.unwrap();
    for own in ["0", "7s", "100ms"] {
        let mut tx = outbox.begin().await.unwrap();
        limit(&mut tx, own).await;
        outbox.publish(&mut tx, &of("a")).await.unwrap();
        assert_eq!(limit_of(&mut tx).await, own);
        tx.commit().await.unwrap();
    }
    assert_eq!((audited.events().await, audited.shop.effects().await), (3, 3));
}

async fn limit(tx: &mut OutboxTransaction, own: &str) {
    sqlx::query("select set_config('statement_timeout', $1, true)").bind(own).execute(&mut **tx).await.unwrap();
}

async fn limit_of(tx: &mut OutboxTransaction) -> String {
    sqlx::query_scalar("show statement_timeout").fetch_one(&mut **tx).await.unwrap()
}

/// A subscriber that ends the transaction is an error, and loud: what stood in it may be committed.
#[tokio::test]
async fn one_that_ends_the_transaction_is_refused() {
    let audited = Audited::new().await;
    let outbox = audited.outbox(&["wishes.grant"]).await;
    let mut tx = outbox.begin().await.unwrap();
    let error = outbox.publish(&mut tx, &of("an end")).await.unwrap_err();
    assert!(
        error.to_string().ends_with("it ended the transaction that it was given (a COMMIT or ROLLBACK in raw SQL)"),
        "{error}"
    );
}

/// An event of a version that it does not take is refused: it must not commit without it.
#[tokio::test]
async fn another_version_of_the_event_is_refused() {
    let audited = Audited::new().await;
    let mut subscriber = on("audit.take", "wish.uttered");
    subscriber.in_transaction = true;
    subscriber.versions = outbox_core::Versions::Only(&[2, 3]);
    let outbox = audited.shop.bare(linking([subscriber])).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let error = outbox.publish(&mut tx, &of("a")).await.unwrap_err();
    assert!(error.to_string().ends_with("`audit.take` failed: it does not take version 1 of the event"), "{error}");
    assert_usable(tx, &audited.shop.sandbox).await;
}
