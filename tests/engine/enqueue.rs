//! enqueue: a command for exactly one handler, in the caller's transaction.

use std::time::Duration;

use outbox::prelude::*;
use outbox::{PublishError, Settings};
use sqlx::types::chrono::{DateTime, Utc};

use crate::linkage::{linking, of_job, only_events};
use crate::sql::{assert_usable, holds, text};
use crate::support::{Script, Shop};
use crate::wire::Wire;

/// Sends one mail.
#[job("mail.send")]
pub struct SendMail {
    pub to: String,
}

#[subscriber(job = "mail.send", idempotent = "it only notes")]
async fn send(mail: SendMail, State(script): State<Script>) -> HandlerResult {
    script.note(format!("mail to {}", mail.to));
    Ok(())
}

fn mail() -> SendMail {
    SendMail { to: "ann".into() }
}

/// S0-6, S0-7: a job commits with the caller's rows, with its payload and without an event, and its handler runs it once.
#[tokio::test]
async fn a_job_commits_with_the_transaction_and_is_run_once() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["mail.send"]).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let enqueued = outbox.enqueue(&mut tx, &mail()).actor("bob").header("a", "b").await.unwrap();
    assert!(shop.sandbox.jobs().await.is_empty());
    tx.commit().await.unwrap();
    assert_eq!(shop.sandbox.jobs().await.only().id, enqueued.job_id);
    let row = "select event_id is null and payload = '{\"to\": \"ann\"}' and job_type = 'mail.send'
                 and metadata = '{\"actor\": \"bob\", \"headers\": {\"a\": \"b\"}}' from :schema.job";
    assert!(holds(&shop.sandbox, row).await);
    outbox.drain().await.unwrap();
    assert_eq!(shop.script.notes(), ["mail to ann"]);
    assert_eq!(shop.sandbox.jobs().await.only().status, "succeeded");
}

/// S0-8: a rollback leaves no job; without a transaction there is none either.
#[tokio::test]
async fn without_a_commit_there_is_no_job() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["mail.send"]).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    outbox.enqueue(&mut tx, &mail()).await.unwrap();
    tx.rollback().await.unwrap();
    let mut connection = shop.sandbox.pool().acquire().await.unwrap();
    let refused = outbox.enqueue(&mut connection, &mail()).await.unwrap_err();
    assert!(matches!(refused, PublishError::NoTransaction { name: "mail.send" }), "{refused}");
    assert!(shop.sandbox.jobs().await.is_empty());
}

/// An enqueue is one statement and one round trip.
#[tokio::test]
async fn an_enqueue_is_one_round_trip() {
    let shop = Shop::new().await;
    let wire = Wire::default();
    let pool = wire.pool(&shop.sandbox).await;
    let outbox = shop.sandbox.outbox_on(pool).registry(only_events()).poll_only().build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    outbox.enqueue(&mut tx, &mail()).await.unwrap();
    wire.take();
    outbox.enqueue(&mut tx, &mail()).key("k").priority(0).await.unwrap();
    let sent = wire.take();
    assert_eq!((sent.statements(), sent.round_trips()), (1, 1), "{sent:?}");
}

/// S0-18: a job for a later time is not run before it, and a delay counts from the statement (B27).
#[tokio::test]
async fn a_later_job_waits_for_its_time() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["mail.send"]).build().await.unwrap();
    let later: DateTime<Utc> = "2100-01-02T03:04:05Z".parse().unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let mark: DateTime<Utc> =
        sqlx::query_scalar("select clock_timestamp() from pg_sleep(0.02)").fetch_one(&mut *tx).await.unwrap();
    let delayed = outbox.enqueue(&mut tx, &mail()).delay(Duration::from_mins(10)).await.unwrap();
    let at = outbox.enqueue(&mut tx, &mail()).not_before(later).await.unwrap();
    outbox.enqueue(&mut tx, &mail()).delay(Duration::MAX).not_before(DateTime::<Utc>::MIN_UTC).await.unwrap();
    outbox.enqueue(&mut tx, &mail()).not_before(DateTime::<Utc>::MAX_UTC).await.unwrap();
    assert_usable(tx, &shop.sandbox).await;
    assert_eq!(outbox.drain().await.unwrap().executions, 0);
    let due = |id: outbox::JobId, due: String| {
        format!("select available_at {due} from :schema.job where id = '{}'", id.as_uuid())
    };
    let from_mark =
        format!("between '{mark}'::timestamptz + interval '10 min' and clock_timestamp() + interval '10 min'");
    assert!(holds(&shop.sandbox, &due(delayed.job_id, from_mark)).await);
    assert!(holds(&shop.sandbox, &due(at.job_id, "= '2100-01-02T03:04:05Z'".into())).await);
}

/// A job that is given a priority goes before those of its handler; a number beyond the last counts as the last.
#[tokio::test]
async fn a_job_can_be_given_a_priority() {
    let shop = Shop::new().await;
    let outbox = shop.outbox(&["mail.send"]).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    for (to, priority) in [("last", Some(200)), ("usual", None), ("first", Some(0))] {
        let job = SendMail { to: to.into() };
        let enqueuing = outbox.enqueue(&mut tx, &job);
        match priority {
            Some(priority) => enqueuing.priority(priority).await.unwrap(),
            None => enqueuing.await.unwrap(),
        };
    }
    tx.commit().await.unwrap();
    let stored = "select string_agg((payload ->> 'to') || priority, ' ' order by priority) from :schema.job";
    assert_eq!(text(&shop.sandbox, stored).await, "first0 usual1 last3");
    outbox.drain().await.unwrap();
    assert_eq!(shop.script.notes(), ["mail to first", "mail to usual", "mail to last"]);
}

/// S0-26: a binary that does not link the handler enqueues with the executions and the priority that the handler declared to the
/// catalogue, and the handler runs it.
#[tokio::test]
async fn the_catalogue_knows_the_handlers_settings() {
    let shop = Shop::new().await;
    let mut handler = of_job("mail.send");
    handler.settings = Settings { max_attempts: 3, priority: 2, ..Settings::DEFAULT };
    let worker = shop.bare(linking([handler])).build().await.unwrap();
    let web = shop.bare(only_events()).build().await.unwrap();
    let mut tx = web.begin().await.unwrap();
    web.enqueue(&mut tx, &mail()).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(text(&shop.sandbox, "select max_attempts || ' ' || priority from :schema.job").await, "3 2");
    assert!(worker.unclaimed().await.unwrap().is_empty());
    worker.drain().await.unwrap();
    assert_eq!(shop.script.count("mail.send"), 1);
}

/// O6, S0-17: a job whose handler nobody has declared waits, uncharged and reported, until somebody links it.
#[tokio::test]
async fn a_job_without_a_handler_waits() {
    let shop = Shop::new().await;
    let web = shop.bare(only_events()).build().await.unwrap();
    let mut tx = web.begin().await.unwrap();
    web.enqueue(&mut tx, &mail()).await.unwrap();
    tx.commit().await.unwrap();
    let other = shop.outbox(&["notifications.confirm"]).build().await.unwrap();
    assert_eq!(other.drain().await.unwrap().executions, 0);
    let unclaimed = other.unclaimed().await.unwrap();
    assert_eq!((unclaimed.len(), unclaimed[0].job_type.as_str(), unclaimed[0].waiting), (1, "mail.send", 1));
    let job = shop.sandbox.jobs().await.only().clone();
    assert_eq!((job.status.as_str(), job.attempts), ("pending", 0));
    let later = shop.outbox(&["mail.send"]).build().await.unwrap();
    later.drain().await.unwrap();
    assert_eq!(shop.sandbox.jobs().await.only().status, "succeeded");
}

/// O5: a job that an old binary enqueues under its handler's earlier name is stored under the new one and run there.
#[tokio::test]
async fn a_job_of_an_earlier_name_is_stored_under_the_new_one() {
    let shop = Shop::new().await;
    let mut renamed = of_job("mail.deliver");
    renamed.aliases = &["mail.send"];
    let registry = linking([renamed]);
    let descriptors: Vec<_> = registry.subscribers().to_vec();
    let jobs: Vec<_> = registry.jobs().to_vec();
    let deliver: &'static outbox::JobDescriptor = Box::leak(Box::new(outbox::JobDescriptor {
        name: "mail.deliver",
        version: 1,
        shape: || outbox_core::Shape::Other,
        rust_type: || "DeliverMail",
        place: crate::linkage::at(7),
    }));
    let registry = outbox::Registry::of([], jobs.into_iter().chain([deliver]), descriptors);
    let worker = shop.bare(registry).build().await.unwrap();
    let old = shop.outbox(&["mail.send"]).build().await.unwrap();
    let mut tx = old.begin().await.unwrap();
    old.enqueue(&mut tx, &mail()).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(shop.sandbox.jobs().await.only().handler, "mail.deliver");
    worker.drain().await.unwrap();
    assert_eq!(shop.script.notes()[0], "mail.send", "its key keeps the original name");
}
