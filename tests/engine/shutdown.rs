//! An orderly end: nothing new begins, what can end ends, the rest goes back at once and uncharged.

use outbox_testing::fault::Point;
use std::time::Duration;

use outbox_testing::eventually;

use crate::floor::{Asked, Do, Floor, Worker, ask, ask_many};
use crate::proxy;

/// S2-52, S1-23, O28, Q29, B18: handlers that heed the request and succeed have ended well; those that fail behind it, those that do not end,
/// and those that had not begun are pending, due now, with no attempt charged; no row stays leased, the worker's row is gone, and
/// all that within the budget of 300 ms and a second more.
#[tokio::test]
async fn what_is_not_finished_goes_back_uncharged() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.patient", "desk.narrow", "till.book"]).build().await.unwrap();
    ask_many(&outbox, 3, [Do::Hang]).await;
    let well = ask(&outbox, "well", [Do::Heed(true)]).await;
    let badly = ask(&outbox, "badly", [Do::Heed(false)]).await;
    // Or the worker would write the jobs again that are taken away now.
    floor.sandbox.execute("update :schema.subscription set backfilled_at = now()").await;
    floor.sandbox.execute("delete from :schema.job_live l using :schema.event e where e.id = l.event_id and l.job_type <> 'desk.patient' and e.subject_id in ('well', 'badly')").await;
    let worker = Worker::start(outbox);
    floor.until_begun("desk.patient", "well", 1).await;
    floor.until_begun("desk.patient", "badly", 1).await;
    floor.until_begun("till.book", "n0", 1).await;
    eventually("`desk.narrow` is full", async || (floor.stage.most_at_once("desk.narrow") == 2).then_some(())).await;
    let took = worker.stop().await;
    assert!(took < Duration::from_millis(1300), "{took:?}");
    assert_eq!(floor.job("desk.patient", well).await.status, "succeeded");
    let job = floor.job("desk.patient", badly).await;
    assert_eq!((job.status.as_str(), job.attempts), ("pending", 0));
    let jobs = floor.sandbox.jobs().await;
    assert_eq!((jobs.succeeded(), jobs.count("pending")), (1, 10), "{jobs:#?}");
    assert!(jobs.0.iter().filter(|job| job.status == "pending").all(|job| job.attempts == 0 && job.crashes == 0));
    let left = "select count(*) from :schema.job_live where available_at > now() or claim_id is not null";
    assert_eq!(floor.sandbox.number(left).await, 0);
    assert_eq!(floor.sandbox.number("select count(*) from :schema.worker").await, 0);
    assert_eq!(floor.sandbox.number("select count(*) from :schema.done").await, 0);
}

/// B18: under constant load claiming stops first: once the request to end is there, no further execution begins.
#[tokio::test]
async fn nothing_begins_behind_the_request_to_end() {
    let floor = Floor::new().await;
    let mut worker = floor.worker(&["desk.patient"]).await;
    ask_many(&worker.outbox, 200, [Do::Heed(true)]).await;
    eventually("executions run", async || (floor.stage.running() >= 8).then_some(())).await;
    worker.ask_to_stop();
    eventually("an execution has heeded it", async || (!floor.stage.noted("ended ").is_empty()).then_some(())).await;
    let begun = floor.stage.noted("began ").len();
    ask_many(&worker.outbox, 10, []).await;
    worker.outbox.kick();
    eventually("the worker has ended", async || worker.has_ended().then_some(())).await;
    assert_eq!(floor.stage.noted("began ").len(), begun);
    let jobs = floor.sandbox.jobs().await;
    assert_eq!((jobs.succeeded(), jobs.count("running")), (begun, 0));
}

/// B18: it ends within its budget and a second more also when the database answers nothing any more.
#[tokio::test]
async fn a_database_that_hangs_does_not_hold_up_the_end() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let outbox = floor.outbox_on(proxy::pool(&proxy), &["desk.note", "till.book"]).lease(Duration::from_mins(1));
    let worker = Worker::start(outbox.build().await.unwrap());
    ask(&worker.outbox, "a", [Do::Hang]).await;
    floor.until_begun("desk.note", "a", 1).await;
    floor.until_begun("till.book", "a", 1).await;
    proxy.all().black_hole();
    worker.outbox.kick();
    let took = worker.stop().await;
    assert!(took < Duration::from_millis(1300), "{took:?}");
}

/// B18: nor does a handler that blocks its thread when the lease was lost just before.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_blocked_thread_of_a_lost_lease_does_not_hold_up_the_end() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let worker = Worker::start(floor.outbox_on(proxy::pool(&proxy), &["desk.note"]).build().await.unwrap());
    ask(&worker.outbox, "a", [Do::BlockUntil("end".into())]).await;
    floor.until_begun("desk.note", "a", 1).await;
    floor.sandbox.execute("update :schema.worker set dead_at = now()").await;
    let renewals = proxy.all().count("renew");
    eventually("it has learned it", async || (proxy.all().count("renew") > renewals).then_some(())).await;
    let took = worker.stop().await;
    assert!(took < Duration::from_millis(1300), "{took:?}");
    floor.stage.open("end");
}

/// B18: other workers are not disturbed, and take what goes back at once.
#[tokio::test]
async fn another_worker_takes_what_goes_back() {
    let floor = Floor::new().await;
    let leaving = floor.worker(&["desk.patient"]).await;
    let event = ask(&leaving.outbox, "a", [Do::Heed(false)]).await;
    floor.until_begun("desk.patient", "a", 1).await;
    let staying = floor.worker(&["desk.patient"]).await;
    leaving.stop().await;
    let job = floor.until("desk.patient", event, "succeeded").await;
    assert_eq!((job.attempts, job.crashes, floor.stage.executions("desk.patient", "a")), (1, 0, 2));
    staying.stop().await;
}

/// A `run` whose future is dropped leaves no worker behind: its jobs are taken over when its lease ends.
#[tokio::test]
async fn a_dropped_run_leaves_nothing_behind() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&outbox, "a", [Do::Hang]).await;
    let running = outbox.clone();
    let run = tokio::spawn(async move { running.run(std::future::pending()).await });
    floor.until_begun("desk.note", "a", 1).await;
    run.abort();
    eventually("its execution was dropped", async || (floor.stage.running() == 0).then_some(())).await;
    let other = floor.worker(&["desk.note"]).await;
    floor.until("desk.note", event, "succeeded").await;
    other.stop().await;
    assert_eq!(floor.stage.executions("desk.note", "a"), 2);
}

/// S1-23: a `begin()` that a `select!` drops in the middle, when its process is told to stop, leaves no connection of the pool in a transaction
/// that nobody knows of.
#[tokio::test]
async fn a_begin_that_is_dropped_leaves_no_transaction_open() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let pool = sqlx::postgres::PgPoolOptions::new().max_connections(1).connect_lazy_with(proxy.options());
    let outbox = floor.outbox_on(pool, &["desk.note"]).build().await.unwrap();
    let answer = proxy.hold_at(Point::after("begin"));
    tokio::select! {
        begun = outbox.begin() => panic!("{begun:?} though its answer is held"),
        () = answer.until_reached() => {}
    }
    answer.release();
    // In a transaction the time stands still, on the pool's one connection.
    let now = async || sqlx::query_scalar::<_, String>("select now()::text").fetch_one(outbox.pool()).await.unwrap();
    assert_ne!(now().await, now().await);
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish(&mut tx, &Asked { label: "a".to_owned(), plan: Vec::new() }).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(floor.sandbox.number("select count(*) from :schema.event").await, 1);
}
