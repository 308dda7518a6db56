//! How many executions run at once, and what waits for what.

use outbox_testing::eventually;

use crate::floor::{Do, Floor, Letter, Worker, ask_many, wait};
use crate::proxy::Proxy;

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

/// S0-29: no more executions of a handler at once than it says, of a module than the worker says, of all than the worker says.
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

/// S0-31, Q14: jobs whose process died before run one at a time, so that the guilty one is known, while healthy ones run beside.
#[tokio::test]
async fn crashed_jobs_run_one_at_a_time() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note", "shelf.fill"]).build().await.unwrap();
    ask_many(&outbox, 5, [Do::Hang, Do::Wait("end".to_owned())]).await;
    floor.sandbox.execute("update :schema.job_live set crashes = 1, attempts = 1 where job_type = 'desk.note'").await;
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

/// S0-31: a job on its last attempt is claimed into a free slot only: it never waits in memory, where a neighbour's crash
/// would end it.
#[tokio::test]
async fn a_job_on_its_last_attempt_never_waits_in_memory() {
    let floor = Floor::new().await;
    let proxy = Proxy::start().await;
    let outbox = floor.outbox_on(proxy.pool(), &["desk.letter", "desk.once"]).concurrency(3).prefetch(50);
    let worker = Worker::start(outbox.build().await.unwrap());
    ask_many(&worker.outbox, 10, wait("end")).await;
    eventually("the slots of a handler that is not alone are taken", async || {
        (floor.stage.running() == 2).then_some(())
    })
    .await;
    let claims = proxy.count("-- claim:");
    eventually("it has claimed three times more", async || (proxy.count("-- claim:") >= claims + 3).then_some(()))
        .await;
    assert_eq!(floor.sandbox.jobs().await.count("running"), 2);
    floor.stage.open("end");
    let jobs = floor.until_settled().await;
    assert_eq!(jobs.succeeded(), 10);
    worker.stop().await;
}
