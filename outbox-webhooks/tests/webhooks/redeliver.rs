//! Once more, by hand.

use outbox_webhooks::{DeliveryStatus, RedeliverError};

use crate::floor::Floor;
use crate::receiver::{Receiver, Reply};

/// S1-47: a delivery that has failed can be sent once more, though endpoint and event are unique: under the same `webhook-id`, with the
/// same bytes, by the same job in a new life.
#[tokio::test]
async fn a_failed_delivery_is_sent_once_more_under_its_id() {
    let floor = Floor::new().await;
    let receiver = Receiver::answering([Reply::status(500)]).await;
    let created = floor.endpoint(&receiver).await;
    let event = floor.issue().await;
    floor.to_the_end().await;
    let failed = floor.only(event).await;
    assert_eq!(failed.status, DeliveryStatus::Failed);

    receiver.answer([Reply::status(200)]);
    floor.redeliver(&failed).await;
    assert_eq!(floor.only(event).await.status, DeliveryStatus::Pending);
    floor.drain().await;
    let delivered = floor.only(event).await;
    assert_eq!((delivered.status, delivered.attempts, delivered.id), (DeliveryStatus::Delivered, 9, failed.id));
    let requests = receiver.requests();
    assert_eq!(requests.len(), 9);
    assert_eq!((requests[8].id(), &requests[8].body), (requests[0].id(), &requests[0].body));
    assert_eq!(requests[8].verify(&created.secret), Ok(()));
    // No dead job is left over of a delivery that has arrived.
    let jobs = floor.jobs().await;
    assert_eq!(jobs.iter().map(|job| job.status.as_str()).collect::<Vec<_>>(), ["succeeded"]);
}

/// S1-47: one that has arrived too; the receiver knows it by its id.
#[tokio::test]
async fn a_delivery_that_has_arrived_can_be_sent_once_more() {
    let floor = Floor::new().await;
    let receiver = Receiver::new().await;
    floor.endpoint(&receiver).await;
    let event = floor.issue().await;
    floor.drain().await;
    floor.redeliver(&floor.only(event).await).await;
    floor.drain().await;
    let requests = receiver.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!((requests[0].id(), &requests[0].body), (requests[1].id(), &requests[1].body));
    let delivery = floor.only(event).await;
    assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::Delivered, 2));
}

#[tokio::test]
async fn what_is_on_its_way_or_goes_nowhere_is_refused_and_the_transaction_stays_usable() {
    let floor = Floor::new().await;
    let receiver = Receiver::answering([Reply::status(500)]).await;
    let created = floor.endpoint(&receiver).await;
    let event = floor.issue().await;
    floor.drain().await;
    let delivery = floor.only(event).await;
    let (webhooks, outbox) = (&floor.webhooks, &floor.outbox);
    let mut tx = outbox.begin().await.unwrap();
    let refused = webhooks.redeliver(outbox, &mut tx, delivery.id).await;
    assert!(matches!(refused, Err(RedeliverError::Pending(id)) if id == delivery.id));
    let unknown = uuid::Uuid::from_u128(7).into();
    assert!(
        matches!(webhooks.redeliver(outbox, &mut tx, unknown).await, Err(RedeliverError::NotFound(id)) if id == unknown)
    );
    webhooks.disable(&mut tx, created.endpoint.id, "not wanted").await.unwrap();
    tx.commit().await.unwrap();
    floor.to_the_end().await;

    let mut tx = outbox.begin().await.unwrap();
    let refused = webhooks.redeliver(outbox, &mut tx, delivery.id).await;
    assert!(matches!(refused, Err(RedeliverError::Disabled(reason)) if reason == "not wanted"));
    webhooks.enable(&mut tx, created.endpoint.id).await.unwrap();
    webhooks.redeliver(outbox, &mut tx, delivery.id).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(floor.only(event).await.status, DeliveryStatus::Pending);

    let mut alone = floor.sandbox.application_pool().acquire().await.unwrap();
    assert!(matches!(webhooks.redeliver(outbox, &mut alone, delivery.id).await, Err(RedeliverError::NoTransaction)));
}

/// Two people press the button at once: one waits for the other, and then learns that it is on its way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_at_once_send_it_once() {
    let floor = Floor::new().await;
    let receiver = Receiver::new().await;
    floor.endpoint(&receiver).await;
    let event = floor.issue().await;
    floor.drain().await;
    let delivery = floor.only(event).await;
    let (webhooks, outbox) = (floor.webhooks.clone(), floor.outbox.clone());
    let mut first = outbox.begin().await.unwrap();
    webhooks.redeliver(&outbox, &mut first, delivery.id).await.unwrap();
    let second = tokio::spawn({
        let (webhooks, outbox) = (webhooks.clone(), outbox.clone());
        async move {
            let mut tx = outbox.begin().await.unwrap();
            let answer = webhooks.redeliver(&outbox, &mut tx, delivery.id).await;
            tx.commit().await.unwrap();
            answer
        }
    });
    let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%:schema.webhook_delivery d%'";
    outbox_testing::eventually("the second waits for the first", async || {
        (floor.sandbox.number(waiting).await == 1).then_some(())
    })
    .await;
    first.commit().await.unwrap();
    assert!(matches!(second.await.unwrap(), Err(RedeliverError::Pending(_))));
    floor.drain().await;
    assert_eq!(receiver.requests().len(), 2);
}

/// Somebody redrives the failed job in the job list instead: the log follows it.
#[tokio::test]
async fn redriving_the_job_is_redelivering() {
    let floor = Floor::new().await;
    let receiver = Receiver::answering([Reply::status(500)]).await;
    floor.endpoint(&receiver).await;
    let event = floor.issue().await;
    floor.to_the_end().await;
    receiver.answer([Reply::status(200)]);
    floor.outbox.redrive(floor.jobs().await[0].id).await.unwrap();
    assert_eq!(floor.only(event).await.status, DeliveryStatus::Pending);
    floor.drain().await;
    assert_eq!(floor.only(event).await.status, DeliveryStatus::Delivered);
    assert_eq!(receiver.requests().len(), 9);
}

/// A job that the delivery does not name, as from a backup or an older redelivery, ends without a call.
#[tokio::test]
async fn a_job_that_the_delivery_does_not_name_sends_nothing() {
    let floor = Floor::new().await;
    let receiver = Receiver::answering([Reply::status(500)]).await;
    floor.endpoint(&receiver).await;
    let event = floor.issue().await;
    floor.drain().await;
    floor
        .sandbox
        .execute(
            "insert into :schema.job_live (id, job_type, payload, max_attempts, metadata)
             select gen_random_uuid(), job_type, payload, max_attempts, metadata from :schema.job_live
             where job_type = 'webhooks.deliver'",
        )
        .await;
    floor.drain().await;
    assert_eq!(receiver.requests().len(), 1);
    let jobs = floor.jobs().await;
    let ended: Vec<_> = jobs.iter().filter(|job| job.status == "succeeded").collect();
    assert_eq!((jobs.len(), ended.len(), ended[0].reason.as_deref()), (2, 1, Some("discarded")));
    assert_eq!(floor.only(event).await.status, DeliveryStatus::Pending);
}
