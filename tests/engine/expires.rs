//! Commands that are too old when their turn comes: not begun, and visible.

use std::time::Duration;

use outbox::prelude::*;
use outbox::{Enqueued, JobId, Outbox, Reason};
use outbox_testing::{JobRow, eventually};
use sqlx::postgres::PgPoolOptions;

use crate::floor::{Do, Floor, Stage, Worker};

/// Holds for ten minutes, unless its enqueue says otherwise.
#[job("offer.make", expires = "10m")]
pub struct MakeOffer {
    pub label: String,
    pub plan: Vec<Do>,
}

#[subscriber(job = "offer.make", concurrency = 1, max_attempts = 3, backoff = fixed("50ms"))]
async fn make(offer: MakeOffer, attempt: Attempt, _key: IdempotencyKey, State(stage): State<Stage>) -> HandlerResult {
    stage.play_by("offer.make", &offer.label, &offer.plan, attempt).await
}

/// Is made known in its transaction.
#[job("offer.sign")]
pub struct SignOffer {
    pub label: String,
}

#[subscriber(job = "offer.sign")]
async fn sign(offer: SignOffer, attempt: Attempt, _tx: Tx<'_>, State(stage): State<Stage>) -> HandlerResult {
    stage.play_by("offer.sign", &offer.label, &[], attempt).await
}

/// Takes every event there is.
#[subscriber(event = "*", name = "clerk.file", idempotent = "it only notes")]
async fn file(event: Envelope, State(stage): State<Stage>) -> HandlerResult {
    stage.note(format!("filed {}", event.name));
    Ok(())
}

async fn enqueue(outbox: &Outbox, label: &str, plan: &[Do], expires: Option<Duration>) -> Enqueued {
    let mut tx = outbox.begin().await.unwrap();
    let offer = MakeOffer { label: label.into(), plan: plan.to_vec() };
    let enqueuing = outbox.enqueue(&mut tx, &offer);
    let enqueued = match expires {
        Some(time) => enqueuing.expires(time).await.unwrap(),
        None => enqueuing.await.unwrap(),
    };
    tx.commit().await.unwrap();
    enqueued
}

async fn job(floor: &Floor, id: JobId) -> JobRow {
    floor.sandbox.jobs().await.0.into_iter().find(|job| job.id == id).unwrap()
}

async fn until_old(floor: &Floor, id: JobId) {
    let young = format!(
        "select count(*) from :schema.job_live where id = '{}' and (metadata ->> 'expires_at')::numeric >= extract(epoch from clock_timestamp())",
        id.as_uuid()
    );
    floor.until_number(&young, 0).await;
}

fn assert_expired(job: &JobRow) {
    assert_eq!((job.status.as_str(), job.reason.as_deref()), ("failed", Some("expired")), "{job:?}");
    assert_eq!(job.last_error.as_deref(), Some("it expired before its turn came, and was not begun"));
}

/// S2-5: a command that nobody ran in its time is never run: when a worker is there at last it ends as failed, reason expired, without a call; it is listed, and redriven
/// it expires again. By force it is run after all.
#[tokio::test]
async fn an_expired_command_is_not_executed() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["offer.make"]).build().await.unwrap();
    let id = enqueue(&outbox, "a", &[], Some(Duration::from_millis(1))).await.job_id;
    until_old(&floor, id).await;
    outbox.drain().await.unwrap();
    assert_expired(&job(&floor, id).await);
    assert_eq!(floor.stage.executions("offer.make", "a"), 0);
    let listed = outbox.dead_letters().reason(Reason::Expired).list().await.unwrap();
    assert_eq!((listed.len(), listed[0].id, listed[0].handler.as_str()), (1, id, "offer.make"));
    outbox.redrive(id).await.unwrap();
    outbox.drain().await.unwrap();
    assert_expired(&job(&floor, id).await);
    outbox.redrive_by_force(id).await.unwrap();
    outbox.drain().await.unwrap();
    assert_eq!((job(&floor, id).await.status.as_str(), floor.stage.executions("offer.make", "a")), ("succeeded", 1));
}

/// S2-5: its time counts from when it is due, by the database's clock, as its type or its enqueue says; one in time is run.
#[tokio::test]
async fn its_time_counts_from_when_it_is_due() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["offer.make"]).build().await.unwrap();
    enqueue(&outbox, "a", &[], None).await;
    let mut tx = outbox.begin().await.unwrap();
    let later = MakeOffer { label: "b".into(), plan: Vec::new() };
    outbox.enqueue(&mut tx, &later).delay(Duration::from_hours(1)).expires(Duration::from_secs(5)).await.unwrap();
    tx.commit().await.unwrap();
    let left = "select round(sum((metadata ->> 'expires_at')::numeric - extract(epoch from available_at)))::bigint from :schema.job_live";
    assert_eq!(floor.sandbox.number(left).await, 600 + 5);
    outbox.drain().await.unwrap();
    assert_eq!((floor.stage.executions("offer.make", "a"), floor.sandbox.jobs().await.succeeded()), (1, 1));
}

/// S2-5: a retry whose turn comes too late is none: what failed in its time is not executed behind it.
#[tokio::test]
async fn a_retry_that_is_too_old_is_not_executed() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["offer.make"]).build().await.unwrap();
    let id = enqueue(&outbox, "a", &[Do::RetryAfter(0)], None).await.job_id;
    floor.sandbox.execute("create function :schema.grow_old() returns trigger language plpgsql as $$ begin
                             new.metadata := new.metadata || '{\"expires_at\": 1}'; return new; end $$;
                           create trigger grow_old before update on :schema.job_live for each row when (old.status = 'running' and new.status = 'pending')
                             execute function :schema.grow_old()").await;
    outbox.drain().await.unwrap();
    assert_expired(&job(&floor, id).await);
    assert_eq!(floor.stage.executions("offer.make", "a"), 1);
}

/// S2-5: one that was claimed in time and waits in memory behind another is asked again when its turn comes.
#[tokio::test]
async fn one_that_grows_too_old_in_memory_is_not_executed() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["offer.make"]).build().await.unwrap();
    // A backlog, of which one more than runs is taken ahead.
    enqueue(&outbox, "first", &[Do::Wait("end".into())], None).await;
    let id = enqueue(&outbox, "second", &[], Some(Duration::from_secs(5))).await.job_id;
    let worker = Worker::start(outbox);
    eventually("both are claimed", async || {
        let waits = job(&floor, id).await.status == "running";
        (waits && floor.stage.executions("offer.make", "first") == 1).then_some(())
    })
    .await;
    until_old(&floor, id).await;
    floor.stage.open("end");
    eventually("both have ended", async || (floor.sandbox.jobs().await.live() == 0).then_some(())).await;
    assert_expired(&job(&floor, id).await);
    assert_eq!(floor.stage.executions("offer.make", "second"), 0);
    worker.stop().await;
}

/// S2-5: nor is one executed that waited for its transaction until it was too old.
#[tokio::test]
async fn one_that_grows_too_old_before_its_transaction_is_not_executed() {
    let floor = Floor::new().await;
    let options = (*floor.sandbox.pool().connect_options()).clone();
    let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
    let outbox = floor.outbox_on(pool.clone(), &["offer.sign"]).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    let offer = SignOffer { label: "a".into() };
    let id = outbox
        .enqueue(&mut tx, &offer)
        .delay(Duration::from_secs(1))
        .expires(Duration::from_secs(1))
        .await
        .unwrap()
        .job_id;
    tx.commit().await.unwrap();
    let held = pool.acquire().await.unwrap();
    let worker = Worker::start(outbox);
    eventually("it waits", async || (job(&floor, id).await.status == "running").then_some(())).await;
    until_old(&floor, id).await;
    drop(held);
    eventually("it has ended", async || (floor.sandbox.jobs().await.live() == 0).then_some(())).await;
    assert_expired(&job(&floor, id).await);
    assert_eq!(floor.stage.executions("offer.sign", "a"), 0);
    worker.stop().await;
}

/// Whatever somebody wrote where the time stands: no claim ends by it, and no other job waits for it.
#[tokio::test]
async fn an_odd_time_ends_no_claim() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["offer.make"]).build().await.unwrap();
    for (label, odd) in [
        ("text", "\"soon\""),
        ("none", "null"),
        ("list", "[1]"),
        ("late", "1e400"),
        ("early", "-1e400"),
        ("far", "1e30000"),
    ] {
        let id = enqueue(&outbox, label, &[], None).await.job_id;
        let text =
            format!("update :schema.job_live set metadata = '{{\"expires_at\": {odd}}}' where id = '{}'", id.as_uuid());
        floor.sandbox.execute(&text).await;
    }
    outbox.drain().await.unwrap();
    let jobs = floor.sandbox.jobs().await;
    assert_eq!((jobs.len(), jobs.succeeded()), (6, 5), "{jobs:#?}");
    assert_eq!(floor.stage.executions("offer.make", "early"), 0);
}

/// S2-5: a command goes to its one handler: a subscriber of everything does not get it, and there is one job of it.
#[tokio::test]
async fn a_command_is_no_broadcast() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["offer.make", "clerk.file"]).build().await.unwrap();
    enqueue(&outbox, "a", &[], None).await;
    outbox.drain().await.unwrap();
    assert_eq!(floor.sandbox.jobs().await.only().handler, "offer.make");
    assert_eq!((floor.stage.executions("offer.make", "a"), floor.stage.noted("filed ").len()), (1, 0));
}
