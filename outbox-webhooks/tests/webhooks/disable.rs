//! When an endpoint gets no more.

use std::time::Duration;

use outbox_testing::eventually;
use outbox_webhooks::{DeliveryStatus, Endpoint, EndpointId};

use crate::floor::Floor;
use crate::receiver::{Receiver, Reply};

async fn endpoint(floor: &Floor, id: EndpointId) -> Endpoint {
    let mut connection = floor.sandbox.pool().acquire().await.unwrap();
    floor.webhooks.endpoint(&mut connection, id).await.unwrap().unwrap()
}

/// It began to fail this long ago.
async fn failing_for(floor: &Floor, time: &str) {
    let set = format!("update :schema.webhook_endpoint set failing_since = now() - interval '{time}'");
    floor.sandbox.execute(&set).await;
}

#[tokio::test]
async fn one_that_says_it_is_gone_is_disabled_at_once() {
    let floor = Floor::new().await;
    let receiver = Receiver::answering([Reply::status(410)]).await;
    let id = floor.endpoint(&receiver).await.endpoint.id;
    let event = floor.issue().await;
    floor.to_the_end().await;
    let disabled = endpoint(&floor, id).await;
    assert!(disabled.disabled_at.is_some());
    assert_eq!(disabled.disabled_reason.as_deref(), Some("the receiver answered 410, gone"));
    let delivery = floor.only(event).await;
    assert_eq!((delivery.status, delivery.reason.as_deref()), (DeliveryStatus::Failed, Some("quarantined")));
    assert_eq!(receiver.requests().len(), 1);
    let news = floor.disabled().await;
    assert_eq!(news.len(), 1);
    assert_eq!((news[0].endpoint, news[0].tenant.as_str()), (id, "acme"));
    assert_eq!(Some(&news[0].reason), disabled.disabled_reason.as_ref());
    // And what happens from now on is not even put on its way.
    let next = floor.issue().await;
    floor.to_the_end().await;
    assert!(floor.deliveries(next).await.is_empty());
}

/// The news of a dead endpoint goes to no endpoint, or it would kill the next.
#[tokio::test]
async fn the_news_of_it_is_sent_to_no_endpoint() {
    let floor = Floor::new().await;
    let gone = Receiver::answering([Reply::status(410)]).await;
    let well = Receiver::new().await;
    floor.endpoint(&gone).await;
    floor.endpoint(&well).await;
    floor.issue().await;
    floor.to_the_end().await;
    assert_eq!(floor.disabled().await.len(), 1);
    assert_eq!(well.requests().len(), 1);
    let sent = "select count(*) from :schema.webhook_message where event_type <> 'issue.created'";
    assert_eq!(floor.sandbox.number(sent).await, 0);
}

/// Five days without a success, and a delivery that failed for good behind them. A failure that has attempts to spare decides nothing,
/// however long ago the last success is.
#[tokio::test]
async fn one_that_fails_for_five_days_is_disabled_when_a_delivery_fails_for_good() {
    let floor = Floor::new().await;
    let receiver = Receiver::answering([Reply::status(500)]).await;
    let id = floor.endpoint(&receiver).await.endpoint.id;
    floor.issue().await;
    floor.to_the_end().await;
    assert_eq!(endpoint(&floor, id).await.disabled_at, None, "one dead delivery is no reason");

    failing_for(&floor, "119 hours").await;
    floor.issue().await;
    floor.to_the_end().await;
    assert_eq!(endpoint(&floor, id).await.disabled_at, None, "not yet five days");

    failing_for(&floor, "121 hours").await;
    floor.issue().await;
    for _ in 0..7 {
        floor.all_due().await;
        floor.drain().await;
    }
    assert_eq!(endpoint(&floor, id).await.disabled_at, None, "the delivery has an attempt to spare");
    floor.to_the_end().await;
    let disabled = endpoint(&floor, id).await;
    assert_eq!(disabled.disabled_reason.as_deref(), Some("nothing has been delivered for 121 hours"));
    assert_eq!(floor.disabled().await.len(), 1);
}

/// So many dead deliveries in a row; a success in between begins the count anew.
#[tokio::test]
async fn one_whose_deliveries_all_die_is_disabled() {
    let floor = Floor::with(|webhooks| webhooks.disable_after_dead_deliveries(3)).await;
    let receiver = Receiver::answering([Reply::status(500)]).await;
    let id = floor.endpoint(&receiver).await.endpoint.id;
    let dead = async || {
        floor.issue().await;
        floor.to_the_end().await;
        endpoint(&floor, id).await.disabled_at.is_some()
    };
    assert!(!dead().await);
    assert!(!dead().await);
    receiver.answer([Reply::status(200)]);
    assert!(!dead().await);
    receiver.answer([Reply::status(500)]);
    assert!(!dead().await);
    assert!(!dead().await);
    assert!(dead().await);
    let reason = endpoint(&floor, id).await.disabled_reason.unwrap();
    assert!(reason.starts_with("3 deliveries have failed for good"), "{reason}");
}

/// What was on its way when it was disabled ends as failed, without another call; enabled again, it begins as a new one.
#[tokio::test]
async fn what_was_on_its_way_fails_and_enabling_forgets() {
    let floor = Floor::with(|webhooks| webhooks.disable_after_failing_for(Duration::ZERO)).await;
    let receiver = Receiver::answering([Reply::status(500)]).await;
    let id = floor.endpoint(&receiver).await.endpoint.id;
    let event = floor.issue().await;
    floor.drain().await;
    let mut connection = floor.sandbox.pool().acquire().await.unwrap();
    floor.webhooks.disable(&mut connection, id, "a holiday").await.unwrap();
    floor.to_the_end().await;
    let delivery = floor.only(event).await;
    assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::Failed, 1));
    let job = &floor.jobs().await[0];
    assert_eq!(job.last_error.as_deref(), Some("the endpoint is disabled: a holiday"));
    assert_eq!(floor.disabled().await, []);

    floor.webhooks.enable(&mut connection, id).await.unwrap();
    let enabled = endpoint(&floor, id).await;
    assert_eq!((enabled.disabled_at, enabled.disabled_reason, enabled.failing_since), (None, None, None));
    receiver.answer([Reply::status(200)]);
    let next = floor.issue().await;
    floor.drain().await;
    assert_eq!(floor.only(next).await.status, DeliveryStatus::Delivered);
}

/// Several deliveries that fail for good at the same moment: one of them disables it, and there is one event.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_disabled_once_however_many_deliveries_die() {
    let floor = Floor::new().await;
    let receiver = Receiver::answering([Reply::status(410)]).await;
    floor.endpoint(&receiver).await;
    failing_for(&floor, "1 hour").await;
    for _ in 0..6 {
        floor.issue().await;
    }
    // Whoever is to judge waits here for the others.
    let mut gate = floor.sandbox.pool().begin().await.unwrap();
    let lock = format!("select from \"{}\".webhook_endpoint for no key update", floor.sandbox.schema());
    sqlx::query(sqlx::AssertSqlSafe(lock)).execute(&mut *gate).await.unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let outbox = floor.outbox.clone();
    let worker = tokio::spawn(async move { outbox.run(async { drop(stopped.await) }).await });
    let judging = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%:schema.webhook_endpoint%'";
    eventually("several are about to judge", async || (floor.sandbox.number(judging).await >= 2).then_some(())).await;
    gate.rollback().await.unwrap();
    eventually("all deliveries have failed", async || {
        floor.all_due().await;
        let jobs = floor.jobs().await;
        // Fan-outs that came behind it made none.
        let fanned = floor.sandbox.jobs().await.of("webhooks.fan_out").live() == 0;
        (fanned && jobs.iter().all(|job| job.status == "failed")).then_some(())
    })
    .await;
    stop.send(()).unwrap();
    worker.await.unwrap().unwrap();
    assert_eq!(floor.disabled().await.len(), 1);
}

/// An endpoint is not disabled without the news of it, and the other way round: where the event cannot be written, it stays enabled, and
/// the next attempt decides.
#[tokio::test]
async fn it_is_disabled_with_its_event_or_not_at_all() {
    let floor = Floor::new().await;
    let receiver = Receiver::answering([Reply::status(410)]).await;
    let id = floor.endpoint(&receiver).await.endpoint.id;
    floor
        .sandbox
        .execute(
            "create function :schema.refuse() returns trigger language plpgsql as $$ begin
               if new.event_type = 'webhook.endpoint.disabled' then raise exception 'no'; end if; return new; end $$;
             create trigger refuse before insert on :schema.event for each row execute function :schema.refuse()",
        )
        .await;
    let event = floor.issue().await;
    floor.drain().await;
    assert_eq!(endpoint(&floor, id).await.disabled_at, None);
    assert_eq!(floor.only(event).await.status, DeliveryStatus::Pending);
    floor.sandbox.execute("drop trigger refuse on :schema.event").await;
    floor.to_the_end().await;
    assert!(endpoint(&floor, id).await.disabled_at.is_some());
    assert_eq!((floor.disabled().await.len(), receiver.requests().len()), (1, 2));
}

/// A URL that the settings do not allow any more is a failure for good each time, and no reason to go on for ever.
#[tokio::test]
async fn one_whose_url_is_not_allowed_is_given_up_too() {
    let floor = Floor::strict(|webhooks| webhooks.disable_after_dead_deliveries(2)).await;
    let id = floor.create(outbox_webhooks::NewEndpoint::new("acme", "https://example.com/")).await.endpoint.id;
    floor.sandbox.execute("update :schema.webhook_endpoint set url = 'http://example.com/'").await;
    for _ in 0..2 {
        assert_eq!(endpoint(&floor, id).await.disabled_at, None);
        floor.issue().await;
        floor.to_the_end().await;
    }
    assert!(endpoint(&floor, id).await.disabled_at.is_some());
}
