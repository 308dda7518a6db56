//! Executions share tasks, and none of them holds up another.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use outbox::prelude::*;

use crate::floor::{Floor, Stage, Worker};

/// What a handler does that never waits.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
enum How {
    AtOnce,
    /// Blocks its thread until the test lets go, or for ten seconds.
    Blocked,
    /// Blocks until so many do, or for ten seconds; the runtime knows of it.
    InPlace(usize),
}

#[job("crew.lift")]
struct Lift {
    how: How,
}

#[subscriber(job = "crew.lift", idempotent = "only notes")]
async fn lift(lift: Lift, State(stage): State<Stage>) -> HandlerResult {
    match lift.how {
        How::AtOnce => stage.note(format!("task {}", tokio::task::id())),
        How::Blocked => {
            stage.note("blocked");
            block_until(|| !stage.noted("let go").is_empty());
            stage.note("freed");
        }
        How::InPlace(all) => tokio::task::block_in_place(|| {
            stage.note("in place");
            if block_until(|| stage.noted("in place").len() == all) {
                stage.note("together");
            }
        }),
    }
    Ok(())
}

fn block_until(done: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !done() && began.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(2));
    }
    done()
}

/// A worker with eight slots that begins with these jobs, in this order.
async fn worker(floor: &Floor, jobs: impl Iterator<Item = How>) -> Worker {
    let outbox = floor.outbox(&["crew.lift"]).concurrency(8).build().await.unwrap();
    let mut tx = outbox.begin().await.unwrap();
    for how in jobs {
        outbox.enqueue(&mut tx, &Lift { how }).await.unwrap();
    }
    tx.commit().await.unwrap();
    Worker::start(outbox)
}

/// Handlers that are done at their first poll run in a few tasks, not in one each.
#[tokio::test]
async fn a_handler_that_never_waits_takes_no_task() {
    let floor = Floor::new().await;
    let worker = worker(&floor, std::iter::repeat_n(How::AtOnce, 300)).await;
    assert_eq!(floor.until_settled().await.succeeded(), 300);
    worker.stop().await;
    let tasks: BTreeSet<_> = floor.stage.noted("task ").into_iter().collect();
    assert!(tasks.len() <= 100, "{} tasks for 300 jobs", tasks.len());
}

/// S0-29: one that blocks its thread holds up neither those that came with it nor their outcomes, nor the worker's loop, although it may follow
/// another one in the same task.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_handler_that_blocks_its_thread_holds_up_no_other() {
    let floor = Floor::new().await;
    let blocked = |number| if number == 20 || number == 25 { How::Blocked } else { How::AtOnce };
    let worker = worker(&floor, (0..200).map(blocked)).await;
    floor.until_number("select count(*) from :schema.job where status = 'succeeded'", 198).await;
    assert_eq!((floor.stage.noted("blocked").len(), floor.stage.noted("freed").len()), (2, 0));
    floor.stage.note("let go");
    assert_eq!(floor.until_settled().await.succeeded(), 200);
    worker.stop().await;
}

/// Nor do those that block in place hold up each other: as many run as there are slots, on however few threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handlers_that_block_in_place_run_beside_each_other() {
    let floor = Floor::new().await;
    let worker = worker(&floor, std::iter::repeat_n(How::InPlace(8), 8)).await;
    assert_eq!(floor.until_settled().await.succeeded(), 8);
    worker.stop().await;
    assert_eq!(floor.stage.noted("together").len(), 8);
}
