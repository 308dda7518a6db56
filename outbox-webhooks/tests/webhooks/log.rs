//! The log and the jobs say the same, whatever happens to either.

use outbox_webhooks::{Delivery, DeliveryStatus};

use crate::floor::Floor;
use crate::receiver::{Receiver, Reply};

async fn failed(floor: &Floor) -> Delivery {
    let event = floor.issue().await;
    floor.to_the_end().await;
    floor.only(event).await
}

/// S1-55: a job that ends in any other way than by its handler: the log follows.
#[tokio::test]
async fn a_job_that_is_cancelled_shows_as_failed() {
    let floor = Floor::new().await;
    let receiver = Receiver::answering([Reply::status(500)]).await;
    floor.endpoint(&receiver).await;
    let event = floor.issue().await;
    floor.drain().await;
    assert_eq!(floor.only(event).await.status, DeliveryStatus::Pending);
    floor.outbox.cancel(floor.jobs().await[0].id, "not wanted").await.unwrap();
    let delivery = floor.only(event).await;
    assert_eq!((delivery.status, delivery.reason.as_deref()), (DeliveryStatus::Failed, Some("cancelled")));
    assert_eq!(delivery.next_attempt_at, None);
}

/// S1-55: what is known of a delivery outlives its job. Retention takes succeeded jobs behind a week and failed ones behind a year.
#[tokio::test]
async fn the_log_outlives_the_jobs() {
    let floor = Floor::new().await;
    let receiver = Receiver::answering([Reply::status(200), Reply::status(500)]).await;
    floor.endpoint(&receiver).await;
    let event = floor.issue().await;
    floor.drain().await;
    let (arrived, dead) = (floor.only(event).await, failed(&floor).await);
    assert_eq!((arrived.status, dead.status), (DeliveryStatus::Delivered, DeliveryStatus::Failed));
    // As retention does it, whose least age no test waits for.
    let gone = "begin; set local outbox.owner_work = 'on';
                delete from :schema.job_succeeded; delete from :schema.job_failed; commit";
    floor.sandbox.execute(gone).await;
    assert!(floor.jobs().await.is_empty());
    assert_eq!(floor.only(event).await, arrived);
    let after = floor.only(dead.event_id).await;
    assert_eq!((after.status, after.reason.as_deref()), (DeliveryStatus::Failed, Some("gone")));
    assert_eq!(after.last_error, dead.last_error);
    // And it can be sent once more, by a new job.
    receiver.answer([Reply::status(200)]);
    floor.redeliver(&after).await;
    floor.drain().await;
    assert_eq!(floor.only(dead.event_id).await.status, DeliveryStatus::Delivered);
}

/// S1-55: a log that is read at any moment says of each delivery what its job says.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_no_moment_do_they_disagree() {
    let floor = Floor::new().await;
    let receiver =
        Receiver::answering((0..40).map(|n| Reply::status(if n % 3 == 0 { 200 } else { 410 - n % 2 }))).await;
    floor.endpoint(&receiver).await;
    // A receiver that says 410 is given up, and this one is asked again all the same.
    let (webhooks, pool) = (floor.webhooks.clone(), floor.sandbox.pool().clone());
    for _ in 0..30 {
        floor.issue().await;
    }
    let outbox = floor.outbox.clone();
    let worker = tokio::spawn(async move { outbox.run(std::future::pending()).await });
    let disagreeing = "select count(*) from :schema.webhook_delivery_log l
                       join :schema.webhook_delivery d on d.id = l.id left join :schema.job j on j.id = d.job_id
                       where l.status <> case when d.delivered_at is not null then 'delivered'
                                              when j.status in ('pending', 'running') then 'pending' else 'failed' end
                          or (j.status = 'succeeded' and l.status <> 'delivered') or (j.status = 'failed' and l.status <> 'failed')";
    outbox_testing::eventually("nothing is on its way", async || {
        assert_eq!(floor.sandbox.number(disagreeing).await, 0);
        let mut connection = pool.acquire().await.unwrap();
        for endpoint in webhooks.endpoints(&mut connection, "acme").await.unwrap() {
            webhooks.enable(&mut connection, endpoint.id).await.unwrap();
        }
        floor.all_due().await;
        (floor.sandbox.jobs().await.live() == 0).then_some(())
    })
    .await;
    worker.abort();
    let log = "select count(*) from :schema.webhook_delivery_log where status = 'pending'";
    assert_eq!(floor.sandbox.number(log).await, 0);
}

#[tokio::test]
async fn the_newest_deliveries_of_an_endpoint_come_first() {
    let floor = Floor::new().await;
    let receiver = Receiver::new().await;
    let id = floor.endpoint(&receiver).await.endpoint.id;
    let mut events = Vec::new();
    for _ in 0..3 {
        events.insert(0, floor.issue().await);
        floor.drain().await;
    }
    let mut connection = floor.sandbox.pool().acquire().await.unwrap();
    let newest = floor.webhooks.deliveries(&mut connection, id, 2).await.unwrap();
    assert_eq!(newest.iter().map(|delivery| delivery.event_id).collect::<Vec<_>>(), events[..2]);
    let one = floor.webhooks.delivery(&mut connection, newest[0].id).await.unwrap();
    assert_eq!(one.as_ref(), Some(&newest[0]));
    assert_eq!(floor.webhooks.delivery(&mut connection, uuid::Uuid::from_u128(7).into()).await.unwrap(), None);
}
