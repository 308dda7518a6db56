//! claim, run, settle: the straight way.

use crate::support::{Shop, publish};

/// S0-22, S0-23: a job that ran is succeeded, with its effect, once.
#[tokio::test]
async fn a_published_event_is_handled_once() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["inventory.take", "notifications.confirm"]).build().await.unwrap();
    publish(&outbox, "o1").await;
    outbox.drain().await.unwrap();
    let jobs = shop.sandbox.jobs().await;
    assert_eq!(jobs.succeeded(), 2, "{jobs:#?}");
    assert!(jobs.0.iter().all(|job| job.attempts == 1));
    assert_eq!(shop.effects().await, 1);
}
