//! How many executions run at once, and what waits for what.

use std::time::Duration;

use outbox_testing::eventually;
use outbox_testing::fault::Point;

use crate::floor::{Do, Floor, Letter, Worker, ask_many, wait};
use crate::proxy;

/// S0-29, S0-42: a handler that hangs in every slot that it may take does not delay another handler of the same events.
#[tokio::test]
async fn a_handler_that_hangs_does_not_delay_another() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.narrow", "shelf.fill"]).concurrency(4).prefetch(5).build().await.unwrap();
    // The plan hangs at the first attempt: of `desk.narrow` it is the first, of `shelf.fill` the second one.
    ask_many(&outbox, 40, [Do::Hang]).await;
    floor.sandbox.execute("update :schema.job_live set attempts = 1 where job_type = 'shelf.fill'").await;
    let worker = Worker::start(outbox);
    floor
        .until_number("select count(*) from :schema.job where job_type = 'shelf.fill' and status = 'succeeded'", 40)
        .await;
    assert_eq!(floor.sandbox.jobs().await.of("desk.narrow").live(), 40);
    worker.stop().await;
}

/// What waits in memory beside the executions is bounded by `.prefetch(..)`, also when the handler that it waits for hangs
/// and other handlers go on claiming.
#[tokio::test]
async fn what_waits_in_memory_is_bounded() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.narrow", "desk.letter"]).concurrency(8).prefetch(10).build().await.unwrap();
    ask_many(&outbox, 100, [Do::Hang]).await;
    let worker = Worker::start(outbox);
    eventually("the handler is full", async || (floor.stage.running() == 2).then_some(())).await;
    for n in 0..20 {
        let mut tx = worker.outbox.begin().await.unwrap();
        let letter = Letter { label: n.to_string() };
        worker.outbox.enqueue(&mut tx, &letter).await.unwrap();
        tx.commit().await.unwrap();
        floor.until_number("select count(*) from :schema.job where status = 'succeeded'", n + 1).await;
    }
    let held = floor.sandbox.number("select count(*) from :schema.job where status = 'running'").await;
    assert!(held <= 2 + 10, "two run, ten may wait, {held} are held");
    worker.stop().await;
}

/// S2-48, S0-29: no more executions of a handler at once than it says, of a module than the worker says, of all than the worker says.
#[tokio::test]
async fn concurrency_is_bounded_by_handler_module_and_worker() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.narrow", "desk.note", "shelf.fill", "order_item.pack"]);
    let outbox = outbox.concurrency(6).module_concurrency("shelf", 1).build().await.unwrap();
    ask_many(&outbox, 30, [Do::Slow(5)]).await;
    let worker = Worker::start(outbox);
    floor.until_settled().await;
    worker.stop().await;
    let stage = &floor.stage;
    assert_eq!((stage.most_at_once("desk.narrow"), stage.most_at_once("shelf.fill")), (2, 1));
    assert!(stage.most_in_all() <= 6, "{}", stage.most_in_all());
    assert!(stage.most_at_once("desk.note") <= 4, "three quarters of six, where a handler is not alone");
    assert!(stage.most_in_all() > 3, "they do run beside each other");
}

/// S0-31, Q14: jobs whose process died twice run one at a time, so that the guilty one is known, while healthy ones run beside.
#[tokio::test]
async fn crashed_jobs_run_one_at_a_time() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note", "shelf.fill"]).build().await.unwrap();
    ask_many(&outbox, 5, [Do::Hang, Do::Wait("end".to_owned())]).await;
    floor.sandbox.execute("update :schema.job_live set crashes = 2, attempts = 1 where job_type = 'desk.note'").await;
    floor.sandbox.execute("update :schema.job_live set attempts = 1 where job_type = 'shelf.fill'").await;
    let worker = Worker::start(outbox);
    eventually("all healthy jobs and one crashed one run", async || (floor.stage.running() == 6).then_some(())).await;
    assert_eq!(
        floor.sandbox.number("select count(*) from :schema.job where crashes > 0 and status = 'running'").await,
        1
    );
    floor.stage.open("end");
    floor.until_settled().await;
    worker.stop().await;
    assert_eq!(floor.stage.most_at_once("desk.note"), 1);
}

/// S0-31: nor before the outcome of the last one is written: its process may die of the next one, and it would be charged for that.
#[tokio::test]
async fn a_crashed_job_waits_until_the_last_ones_outcome_is_written() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let outbox = floor.outbox_on(proxy::pool(&proxy), &["desk.note"]).build().await.unwrap();
    ask_many(&outbox, 2, []).await;
    floor.sandbox.execute("update :schema.job_live set crashes = 2, attempts = 1").await;
    // Each time: one that is not answered for three seconds is sent again.
    let unwritten = proxy.hold_at(Point::before("settle").every_time());
    let worker = Worker::start(outbox);
    unwritten.until_reached().await;
    let claims = proxy.all().count("claim");
    eventually("it has claimed three times more", async || (proxy.all().count("claim") >= claims + 3).then_some(()))
        .await;
    assert_eq!(floor.stage.noted("began ").len(), 1);
    unwritten.release();
    let jobs = floor.until_settled().await;
    assert_eq!(jobs.succeeded(), 2);
    worker.stop().await;
}

/// S0-31: a job on its last attempt is claimed into a free slot only: it never waits in memory, where a neighbour's crash
/// would end it.
#[tokio::test]
async fn a_job_on_its_last_attempt_never_waits_in_memory() {
    let floor = Floor::new().await;
    let proxy = proxy::start().await;
    let outbox = floor.outbox_on(proxy::pool(&proxy), &["desk.letter", "desk.once"]).concurrency(3).prefetch(50);
    let worker = Worker::start(outbox.build().await.unwrap());
    ask_many(&worker.outbox, 10, wait("end")).await;
    eventually("the slots of a handler that is not alone are taken", async || {
        (floor.stage.running() == 2).then_some(())
    })
    .await;
    let claims = proxy.all().count("claim");
    eventually("it has claimed three times more", async || (proxy.all().count("claim") >= claims + 3).then_some(()))
        .await;
    assert_eq!(floor.sandbox.jobs().await.count("running"), 2);
    floor.stage.open("end");
    let jobs = floor.until_settled().await;
    assert_eq!(jobs.succeeded(), 10);
    worker.stop().await;
}

/// S0-31: also when another handler's jobs, which may wait, are claimed beside it and want the same slots.
#[tokio::test]
async fn a_job_on_its_last_attempt_does_not_wait_for_another_handlers_jobs() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note", "desk.once"]).concurrency(4).prefetch(50).build().await.unwrap();
    ask_many(&outbox, 40, wait("end")).await;
    never_held_without_running(&floor, Worker::start(outbox), 4, "desk.once").await;
}

/// S0-31: also when two handlers have free slots of their own, and share those of their module.
#[tokio::test]
async fn a_job_on_its_last_attempt_does_not_wait_for_its_module() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.single", "desk.once"]).module_concurrency("desk", 1).build().await.unwrap();
    ask_many(&outbox, 40, wait("end")).await;
    never_held_without_running(&floor, Worker::start(outbox), 1, "desk.%").await;
}

/// Work that does not end fills the slots; what is held of these jobs, which are on their last attempt, runs.
async fn never_held_without_running(floor: &Floor, worker: Worker, slots: usize, jobs: &str) {
    eventually("every slot is taken", async || (floor.stage.running() == slots).then_some(())).await;
    let held = format!("select count(*) from :schema.job where status = 'running' and job_type like '{jobs}'");
    let held = usize::try_from(floor.sandbox.number(&held).await).unwrap();
    let begun = ["desk.once", "desk.single"].map(|handler| floor.stage.order(handler).len()).iter().sum();
    assert!(held <= begun, "{held} are held, {begun} have begun");
    floor.stage.open("end");
    floor.until_settled().await;
    worker.stop().await;
}

/// S1-48, S0-31: jobs that are on their last attempt go one behind the other through the slots, without a poll for each slotful: with
/// an hour between polls, three hundred end as soon as they have run.
#[tokio::test]
async fn jobs_on_their_last_attempt_do_not_wait_for_polls() {
    let floor = Floor::new().await;
    let outbox =
        floor.outbox(&["desk.once"]).concurrency(4).poll_interval(Duration::from_hours(1)).build().await.unwrap();
    ask_many(&outbox, 300, []).await;
    let worker = Worker::start(outbox);
    assert_eq!(floor.until_settled().await.succeeded(), 300);
    worker.stop().await;
}

/// S0-29, S0-42: with one slot and nothing in memory, two handlers with a backlog take turns.
#[tokio::test]
async fn two_handlers_take_turns_in_a_single_slot() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note", "shelf.fill"]).concurrency(1).prefetch(0);
    take_turns(&floor, Worker::start(outbox.build().await.unwrap()), ["desk.note", "shelf.fill"]).await;
}

/// S0-29, S0-42: and so do two whose jobs are on their last attempt, which never wait in memory.
#[tokio::test]
async fn two_handlers_on_their_last_attempt_take_turns_in_a_single_slot() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.once", "desk.single"]).concurrency(1);
    take_turns(&floor, Worker::start(outbox.build().await.unwrap()), ["desk.once", "desk.single"]).await;
}

/// Forty events: when half of their jobs have run, both handlers had a good share.
async fn take_turns(floor: &Floor, worker: Worker, handlers: [&str; 2]) {
    ask_many(&worker.outbox, 40, [Do::Slow(5)]).await;
    eventually("forty have begun", async || (floor.stage.noted("began ").len() >= 40).then_some(())).await;
    let shares = handlers.map(|handler| floor.stage.order(handler).len());
    assert!(shares.iter().all(|share| *share >= 10), "{shares:?}");
    floor.until_settled().await;
    worker.stop().await;
}
