//! publish: what commits, what does not, and what is refused.

use outbox::prelude::*;
use outbox::PublishError;

use crate::support::{OrderPlaced, Shop, publish};

const BOTH: [&str; 2] = ["inventory.take", "notifications.confirm"];

/// S0-7, S0-9, S0-10, S0-12: one event and one job for each subscriber are there when the transaction has committed.
#[tokio::test]
async fn event_and_jobs_commit_with_the_transaction() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&BOTH).build().await.unwrap();
    let published = publish(&outbox, "o1").await;
    assert_eq!((published.jobs, published.duplicate), (2, false));
    assert_eq!(shop.sandbox.published::<OrderPlaced>().await, [OrderPlaced::of("o1")]);
    let jobs = shop.sandbox.jobs().await;
    assert_eq!(jobs.0.iter().map(|job| job.handler.as_str()).collect::<Vec<_>>(), BOTH);
    assert!(jobs.0.iter().all(|job| job.event_id == Some(published.event_id) && job.status == "pending"));
}

/// S0-8: neither event nor job exists when the transaction rolled back.
#[tokio::test]
async fn a_rollback_leaves_nothing() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&BOTH).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish(&mut tx, &OrderPlaced::of("o1")).await.unwrap();
    tx.rollback().await.unwrap();
    assert!(shop.sandbox.published::<OrderPlaced>().await.is_empty());
    assert!(shop.sandbox.jobs().await.is_empty());
}

/// S0-7: without an open transaction nothing is published, and the error says what to do.
#[tokio::test]
async fn without_a_transaction_nothing_is_published() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&BOTH).build().await.unwrap();
    let mut connection = shop.sandbox.pool().acquire().await.unwrap();
    let refused = outbox.publish(&mut connection, &OrderPlaced::of("o1")).await.unwrap_err();
    assert!(matches!(refused, PublishError::NoTransaction { name: "order.placed" }), "{refused}");
    assert!(shop.sandbox.published::<OrderPlaced>().await.is_empty());
}
