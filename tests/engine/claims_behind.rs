//! A claim that is asked for while another one is under way, and has its connection at once.

use outbox_testing::eventually;

use crate::floor::{Asked, Do, Floor, Letter, Worker, ask_many};

/// A worker that reads ahead, in small claims, with a backlog.
async fn pressed(handlers: &[&str], backlog: usize) -> (Floor, Worker) {
    let floor = Floor::new().await;
    let outbox = floor.outbox(handlers).concurrency(4).batch(20).prefetch(60).build().await.unwrap();
    ask_many(&outbox, backlog, [Do::Succeed]).await;
    (floor, Worker::start(outbox))
}

const DONE: &str = "select count(*) from :schema.job where job_type = 'desk.note' and status = 'succeeded'";

/// S0-29, S0-42: a handler with a backlog that is claimed without a pause does not keep another handler's job waiting.
#[tokio::test]
async fn a_backlog_does_not_keep_what_becomes_due_waiting() {
    let (floor, worker) = pressed(&["desk.note", "desk.letter"], 6_000).await;
    eventually("it is at work", async || (floor.sandbox.number(DONE).await > 100).then_some(())).await;
    let mut tx = worker.outbox.begin().await.unwrap();
    worker.outbox.enqueue(&mut tx, &Letter { label: "urgent".into() }).await.unwrap();
    tx.commit().await.unwrap();
    eventually("the letter is written", async || (!floor.stage.order("desk.letter").is_empty()).then_some(())).await;
    let done = floor.sandbox.number(DONE).await;
    worker.stop().await;
    assert!(done < 5_000, "{done} of the backlog came before it");
}

/// S0-29: what is held is never more than what runs, waits in memory, or waits to be settled.
#[tokio::test]
async fn what_is_held_stays_within_the_memory() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).concurrency(4).batch(20).prefetch(60).build().await.unwrap();
    // Quick ones, so that it reads ahead; then none ends any more.
    ask_many(&outbox, 400, [Do::Succeed]).await;
    let hanging: Vec<_> = (0..400).map(|n| Asked { label: format!("h{n}"), plan: vec![Do::Hang] }).collect();
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish_all(&mut tx, &hanging).await.unwrap();
    tx.commit().await.unwrap();
    let worker = Worker::start(outbox);
    eventually("its slots hang", async || (floor.stage.running() == 4).then_some(())).await;
    floor.until_number(DONE, 400).await;
    let held = floor.sandbox.number("select count(*) from :schema.job where status = 'running'").await;
    assert!(held <= 4 + 60, "four run, sixty may wait, {held} are held");
    worker.stop().await;
}

/// A worker that is stopped while claims follow each other gives back what it did not begin, uncharged; nothing is left held.
#[tokio::test]
async fn a_worker_that_stops_between_claims_gives_all_back() {
    for stop_at in [1, 300, 900] {
        let (floor, worker) = pressed(&["desk.note"], 2_000).await;
        eventually("it is at work", async || (floor.sandbox.number(DONE).await >= stop_at).then_some(())).await;
        worker.stop().await;
        let held = "select count(*) from :schema.job where status = 'running'";
        assert_eq!(floor.sandbox.number(held).await, 0);
        let charged = "select count(*) from :schema.job where status = 'pending' and (attempts, crashes) <> (0, 0)";
        assert_eq!(floor.sandbox.number(charged).await, 0);
        assert_eq!(floor.sandbox.number("select count(*) from :schema.job").await, 2_000);
    }
}
