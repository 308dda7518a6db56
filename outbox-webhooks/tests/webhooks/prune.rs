//! What is old goes.

use std::time::Duration;

use crate::floor::Floor;
use crate::receiver::{Receiver, Reply};

const DAY: Duration = Duration::from_hours(24);

#[tokio::test]
async fn old_deliveries_go_with_what_was_sent_and_those_on_their_way_stay() {
    let floor = Floor::with(|webhooks| webhooks.keep(30 * DAY)).await;
    let receiver = Receiver::answering([Reply::status(200), Reply::status(500)]).await;
    floor.endpoint(&receiver).await;
    let old = floor.issue().await;
    floor.drain().await;
    let open = floor.issue().await;
    floor.drain().await;
    floor
        .sandbox
        .execute(
            "update :schema.webhook_delivery set created_at = now() - interval '31 days';
             update :schema.webhook_message set occurred_at = now() - interval '31 days'",
        )
        .await;
    receiver.answer([Reply::status(200)]);
    let new = floor.issue().await;
    floor.drain().await;
    floor.outbox.schedules().run_now("webhooks.prune").await.unwrap();
    floor.drain().await;
    assert!(floor.deliveries(old).await.is_empty());
    assert_eq!((floor.deliveries(open).await.len(), floor.deliveries(new).await.len()), (1, 1));
    let kept = async |table: &str| floor.sandbox.number(&format!("select count(*) from :schema.{table}")).await;
    assert_eq!(
        (kept("webhook_message").await, kept("webhook_delivery").await, kept("webhook_attempt").await),
        (2, 2, 2)
    );
    assert_eq!(floor.sandbox.jobs().await.of("webhooks.prune").succeeded(), 1);
}
