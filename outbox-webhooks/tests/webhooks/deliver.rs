//! One delivery: what the receiver gets, and when it counts as delivered.

use std::time::Duration;

use outbox_testing::eventually;
use outbox_webhooks::{DeliveryStatus, Secret, VerifyError};

use crate::floor::Floor;
use crate::receiver::{Receiver, Reply};

#[tokio::test]
async fn the_receiver_gets_a_signed_message_and_the_log_says_delivered() {
    let floor = Floor::new().await;
    let receiver = Receiver::new().await;
    let created = floor.endpoint(&receiver).await;
    let event = floor.issue().await;
    floor.drain().await;

    let request = receiver.only();
    assert_eq!(request.line, "POST /hook?from=test HTTP/1.1");
    assert_eq!(request.header("host"), receiver.address.to_string());
    assert_eq!(request.header("content-type"), "application/json");
    assert!(request.header("user-agent").starts_with("outbox-webhooks/"));
    assert_eq!(request.id(), event.to_string());
    assert_eq!(request.verify(&created.secret), Ok(()));
    assert_eq!(request.verify(&Secret::generate()), Err(VerifyError::Mismatch));
    let body = request.json();
    assert_eq!(body["type"], "issue.created");
    assert_eq!(body["data"], serde_json::json!({ "id": 12, "title": "It does not work" }));
    assert!(body["timestamp"].as_str().unwrap().ends_with('Z'));

    let delivery = floor.only(event).await;
    assert_eq!(delivery.status, DeliveryStatus::Delivered);
    assert_eq!((delivery.attempts, delivery.last_status, delivery.last_error.as_deref()), (1, Some(200), None));
    assert!(delivery.delivered_at.is_some() && delivery.next_attempt_at.is_none() && delivery.reason.is_none());
    let attempts = floor.attempts(&delivery).await;
    assert_eq!(attempts.len(), 1);
    assert_eq!((attempts[0].attempt, attempts[0].status, attempts[0].answer.as_deref()), (1, Some(200), Some("body")));
    assert!(attempts[0].ended_at.unwrap() >= attempts[0].started_at);
}

#[tokio::test]
async fn every_status_of_success_is_one_and_no_other_is() {
    for status in [200, 201, 202, 204, 299] {
        let floor = Floor::new().await;
        let receiver = Receiver::answering([Reply::Raw(format!("HTTP/1.1 {status} Word\r\n\r\n"))]).await;
        floor.endpoint(&receiver).await;
        let event = floor.issue().await;
        floor.drain().await;
        assert_eq!(floor.only(event).await.status, DeliveryStatus::Delivered, "{status}");
    }
    for status in [300, 304, 400, 401, 404, 429, 500, 503, 599] {
        let floor = Floor::new().await;
        let receiver = Receiver::answering([Reply::status(status)]).await;
        floor.endpoint(&receiver).await;
        let event = floor.issue().await;
        floor.drain().await;
        let delivery = floor.only(event).await;
        assert_eq!(delivery.status, DeliveryStatus::Pending, "{status}");
        assert_eq!(delivery.last_status, Some(status));
        let error = delivery.last_error.unwrap();
        assert!(error.contains(&status.to_string()), "{error}");
    }
}

/// No transaction is open, and no connection is taken, while the receiver thinks: for longer than is waited here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_connection_is_held_during_a_call() {
    let floor = Floor::with(|webhooks| webhooks.timeout(Duration::from_secs(30))).await;
    let receiver = Receiver::answering([Reply::Never]).await;
    floor.endpoint(&receiver).await;
    floor.issue().await;
    let outbox = floor.outbox.clone();
    let drain = tokio::spawn(async move { outbox.drain().await });
    receiver.until(1).await;
    let pool = floor.sandbox.application_pool();
    eventually("every connection is back in the pool", async || {
        (pool.num_idle() == pool.size() as usize).then_some(())
    })
    .await;
    let open =
        "select count(*) from pg_stat_activity where state like 'idle in transaction%' and query like '%:schema.%'";
    assert_eq!(floor.sandbox.number(open).await, 0);
    let ended = "select count(*) from :schema.webhook_attempt where ended_at is not null";
    assert_eq!(floor.sandbox.number(ended).await, 0);
    drain.abort();
}

#[tokio::test]
async fn a_delivery_whose_endpoint_is_deleted_ends() {
    let floor = Floor::new().await;
    let receiver = Receiver::answering([Reply::status(500)]).await;
    let created = floor.endpoint(&receiver).await;
    let event = floor.issue().await;
    floor.drain().await;
    let mut connection = floor.sandbox.pool().acquire().await.unwrap();
    floor.webhooks.delete(&mut connection, created.endpoint.id).await.unwrap();
    floor.to_the_end().await;
    assert!(floor.deliveries(event).await.is_empty());
    let jobs = floor.jobs().await;
    assert_eq!((jobs[0].status.as_str(), jobs[0].reason.as_deref()), ("succeeded", Some("discarded")));
    assert_eq!(receiver.requests().len(), 1);
}
