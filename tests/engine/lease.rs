//! renew: how long a worker may act, and what happens when it may no more.

use std::time::Instant;

use outbox_testing::eventually;

use crate::floor::{Do, Floor, LEASE, Worker, ask, living_workers};
use crate::proxy;

/// O8, Q18: a handler that takes longer than the lease is renewed, and not run by another worker.
#[tokio::test]
async fn a_handler_longer_than_the_lease_runs_once() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.note"]).await;
    let event = ask(&worker.outbox, "a", [Do::Slow(3500)]).await;
    floor.until_begun("desk.note", "a", 1).await;
    let other = floor.worker(&["desk.note"]).await;
    let job = floor.until("desk.note", event, "succeeded").await;
    assert_eq!((job.attempts, job.crashes, floor.stage.executions("desk.note", "a")), (1, 0, 1));
    worker.stop().await;
    other.stop().await;
}

/// O8, Q18: also when it blocks its thread, and with it the whole runtime of its worker: the lease is renewed apart from both.
#[tokio::test]
async fn a_handler_that_blocks_its_thread_keeps_its_lease() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&outbox, "a", [Do::Block(3500)]).await;
    // A pool of its own, made in its runtime, which stands still meanwhile.
    let (options, schema) = (floor.sandbox.options(), floor.sandbox.schema().to_owned());
    let (stage, floor_stage) = (floor.stage.clone(), floor.stage.clone());
    let blocked = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let pool = sqlx::PgPool::connect_with(options).await.unwrap();
            let outbox = outbox_testing::Sandbox::suited(outbox::Outbox::builder(pool).schema(schema));
            let outbox = crate::floor::settings(outbox, &["desk.note"], stage);
            let worker = Worker::start(outbox.build().await.unwrap());
            eventually("it has run", async || (floor_stage.noted("ended desk.note a").len() == 1).then_some(())).await;
            worker.stop().await;
        });
    });
    floor.until_begun("desk.note", "a", 1).await;
    let other = floor.worker(&["desk.note"]).await;
    let job = floor.until("desk.note", event, "succeeded").await;
    assert_eq!((job.attempts, job.crashes, floor.stage.executions("desk.note", "a")), (1, 0, 1));
    tokio::task::spawn_blocking(|| blocked.join().unwrap()).await.unwrap();
    other.stop().await;
}

/// Q2: a worker whose lease was taken (its row marked dead, its jobs returned) cancels its executions and goes on under a new id,
/// with its slots back.
#[tokio::test]
async fn a_worker_that_lost_its_lease_begins_again() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.note"]).await;
    let event = ask(&worker.outbox, "a", [Do::Hang]).await;
    floor.until_begun("desk.note", "a", 1).await;
    let before = living_workers(&floor).await;
    floor.sandbox.execute("update :schema.worker set dead_at = now()").await;
    eventually("its execution was ended", async || (floor.stage.running() == 0).then_some(())).await;
    let job = floor.until("desk.note", event, "succeeded").await;
    assert_eq!((job.attempts, job.crashes), (2, 1));
    let behind = living_workers(&floor).await;
    assert!(behind.len() == 1 && behind != before, "{behind:?} after {before:?}");
    worker.stop().await;
}

/// Q2: also beside a handler that blocks its thread and cannot be ended: the worker goes on under a new id without it, and other
/// jobs run.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_blocked_thread_does_not_keep_a_worker_from_beginning_again() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.note"]).await;
    ask(&worker.outbox, "a", [Do::BlockUntil("end".into())]).await;
    floor.until_begun("desk.note", "a", 1).await;
    let before = living_workers(&floor).await;
    floor.sandbox.execute("update :schema.worker set dead_at = now()").await;
    eventually("it goes on under a new id", async || {
        living_workers(&floor).await.iter().any(|id| !before.contains(id)).then_some(())
    })
    .await;
    let event = ask(&worker.outbox, "b", []).await;
    floor.until("desk.note", event, "succeeded").await;
    assert!(!floor.stage.noted("ended desk.note ").contains(&"a".to_owned()), "the thread is blocked all the time");
    floor.stage.open("end");
    floor.until_settled().await;
    worker.stop().await;
}

/// A worker that cannot reach the database ends its executions before its lease does, so that nothing runs twice at
/// once, and goes on when the database is back.
#[tokio::test]
async fn executions_end_before_a_lease_that_cannot_be_renewed() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let worker = Worker::start(floor.outbox_on(proxy::pool(&proxy), &["desk.note"]).build().await.unwrap());
    let event = ask(&worker.outbox, "a", [Do::Hang]).await;
    floor.until_begun("desk.note", "a", 1).await;
    proxy.all().black_hole();
    let stalled = Instant::now();
    eventually("its execution was ended", async || (floor.stage.running() == 0).then_some(())).await;
    assert!(stalled.elapsed() < LEASE, "{:?}", stalled.elapsed());
    let held = "select count(*) from :schema.job_live l join :schema.worker w on w.id = l.locked_by where w.expires_at > now()";
    assert_eq!(floor.sandbox.number(held).await, 1, "the lease still stands when the execution has ended");
    let other = floor.worker(&["desk.note"]).await;
    let job = floor.until("desk.note", event, "succeeded").await;
    assert_eq!((job.attempts, job.crashes), (2, 1));
    other.stop().await;
    proxy.all().clear();
    let event = ask(&floor.outbox(&["desk.note"]).build().await.unwrap(), "b", []).await;
    floor.until("desk.note", event, "succeeded").await;
    worker.stop().await;
}
