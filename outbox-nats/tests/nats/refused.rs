//! Messages that the broker does not take: their own failure, and nobody else's.

use outbox_relay::CircuitState;

use crate::relay::{Floor, ParcelSent};
use crate::server::stream;

impl Floor {
    /// To a subject that no stream has.
    async fn parcel(&self) {
        let mut tx = self.outbox.begin().await.unwrap();
        self.outbox.publish(&mut tx, &ParcelSent { number: "1".to_owned() }).await.unwrap();
        tx.commit().await.unwrap();
    }

    async fn retry_now(&self) {
        self.sandbox.execute("update :schema.job_live set available_at = now() where status = 'pending'").await;
        self.outbox.drain().await.unwrap();
    }
}

/// B16b: a message that no stream takes is not done. It is tried again, others pass, the circuit stays closed; when a stream takes it,
/// it arrives once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_stream_takes_is_tried_again_and_others_pass() {
    let floor = Floor::new().await;
    floor.parcel().await;
    floor.order(1).await;
    floor.outbox.drain().await.unwrap();
    let jobs = floor.sandbox.jobs().await;
    assert_eq!((jobs.succeeded(), jobs.count("pending")), (1, 1));
    let waiting = jobs.0.iter().find(|job| job.status == "pending").unwrap();
    assert_eq!(waiting.attempts, 1);
    let error = waiting.last_error.as_deref().unwrap();
    assert!(error.contains("no queue or stream takes `shop.parcel.sent.v1`"), "{error}");
    assert_eq!(floor.relay.status().circuit, CircuitState::Closed);
    assert_eq!(floor.relay.status().refused, 1);
    let both = stream(&["shop.order.>", "shop.parcel.>"]);
    floor.server.jetstream().await.update_stream(both).await.unwrap();
    floor.retry_now().await;
    assert_eq!(floor.sandbox.jobs().await.succeeded(), 2);
    assert_eq!(floor.stored().await.len(), 2);
}

/// What is refused at every allowed attempt ends as a dead letter, with the broker's reason, to be redriven.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_to_the_end_is_a_dead_letter() {
    let floor = Floor::new().await;
    floor.parcel().await;
    floor.outbox.drain().await.unwrap();
    for _ in 1..3 {
        floor.retry_now().await;
    }
    let failed = floor.outbox.failed(10).await.unwrap();
    assert_eq!(failed.len(), 1);
    let jobs = floor.sandbox.jobs().await;
    assert_eq!((jobs.only().attempts, jobs.only().reason.as_deref()), (3, Some("exhausted")));
}

/// A message that is larger than the server takes is quarantined at once, and the connection is as good as before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_large_is_quarantined() {
    let floor = Floor::new().await;
    // As large as an event may be; the headers come on top.
    let mut tx = floor.outbox.begin().await.unwrap();
    let large = ParcelSent { number: "x".repeat((1 << 20) - 20) };
    floor.outbox.publish(&mut tx, &large).await.unwrap();
    tx.commit().await.unwrap();
    floor.outbox.drain().await.unwrap();
    let jobs = floor.sandbox.jobs().await;
    assert_eq!((jobs.only().status.as_str(), jobs.only().reason.as_deref()), ("failed", Some("quarantined")));
    floor.order(1).await;
    floor.outbox.drain().await.unwrap();
    assert_eq!(floor.sandbox.jobs().await.succeeded(), 1);
}
