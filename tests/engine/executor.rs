//! executor: work that is started and not waited for is bounded, cancelled, drained, and heard of.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use outbox::{Executor, ExecutorError};
use tokio::sync::{oneshot, watch};

const LONG: Duration = Duration::from_secs(20);

const FINE: Result<(), io::Error> = Ok(());

/// S2-47: work is tracked, and how it ended comes to who started it, or else to the log and the count: none is detached.
#[tokio::test]
async fn how_work_ended_is_told() {
    let executor = Executor::new(4);
    executor.start("well", async |_| FINE).await.unwrap().ended().await.unwrap();
    let failed = executor.start("badly", async |_| Err(io::Error::other("no paper"))).await.unwrap();
    let error = failed.ended().await.unwrap_err();
    assert_eq!(error.to_string(), "`badly` failed: no paper");
    let panicked = executor.start("loudly", async |_| -> Result<(), io::Error> { panic!("on fire") }).await.unwrap();
    assert_eq!(panicked.ended().await.unwrap_err().to_string(), "`loudly` panicked: on fire");
    drop(executor.start("unheard", async |_| Err(io::Error::other("nobody asks"))).await.unwrap());
    assert_eq!(executor.shut_down(LONG).await.dropped, 0);
    assert_eq!((executor.failures(), executor.running()), (3, 0));
}

/// S2-48, S2-57: so many at once and no more: who starts another waits, or is told; a panic gives its place back.
#[tokio::test]
async fn it_runs_so_many_at_once() {
    let executor = Executor::new(2);
    let (open, gate) = watch::channel(false);
    let (running, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let started: Vec<_> = (0..20)
        .map(|number| {
            let (executor, mut gate) = (executor.clone(), gate.clone());
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            tokio::spawn(async move {
                let work = async move |_| {
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    gate.wait_for(|open| *open).await.unwrap();
                    running.fetch_sub(1, Ordering::SeqCst);
                    assert!(number % 2 == 0, "half of them panic");
                    FINE
                };
                executor.start("counted", work).await.unwrap().ended().await.is_ok()
            })
        })
        .collect();
    outbox_testing::eventually("two run", async || (running.load(Ordering::SeqCst) == 2).then_some(())).await;
    let error = executor.try_start("one more", async |_| FINE).unwrap_err();
    assert!(matches!(error, ExecutorError::Full { most: 2, .. }), "{error}");
    open.send(true).unwrap();
    let mut well = 0;
    for one in started {
        well += u32::from(one.await.unwrap());
    }
    assert_eq!((well, most.load(Ordering::SeqCst)), (10, 2));
}

/// S2-50: what takes too long is dropped, and says so, with what that does not end.
#[tokio::test]
async fn work_has_a_longest_time() {
    let executor = Executor::new(1).timeout(Duration::from_millis(20));
    let work = executor.start("for ever", async |_| pending::<Result<(), io::Error>>().await).await.unwrap();
    let error = work.ended().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`for ever` was dropped, because it took longer than 20ms; what it had begun elsewhere may go on"
    );
}

/// S2-54: whoever waits for the end of work hears of it, however it ends, when nobody drives it any more either: its executor was dropped, or
/// has shut down and dropped the work.
#[tokio::test]
async fn nobody_waits_for_ever_for_works_end() {
    let executor = Executor::new(4);
    let dropped = executor.start("dropped", async |_| -> Result<(), io::Error> { pending().await }).await.unwrap();
    let waits = tokio::spawn(dropped.ended());
    assert_eq!(executor.shut_down(Duration::ZERO).await.dropped, 1);
    let told = tokio::time::timeout(LONG, waits).await.expect("it is told").unwrap().unwrap_err();
    assert!(told.to_string().contains("`dropped`"), "{told}");
    let refused = executor.start("late", async |_| FINE).await.unwrap_err();
    assert!(refused.to_string().contains("late"), "{refused}");
}

/// S2-47, S2-52: a shutdown starts nothing more, asks what runs to end, waits for it, and drops what does not end within the budget.
#[tokio::test]
async fn a_shutdown_drains_and_then_drops() {
    let executor = Executor::new(4);
    let (begun, has_begun) = oneshot::channel();
    let gentle = executor.start("gentle", async move |stop| {
        begun.send(()).unwrap();
        stop.cancelled().await;
        FINE
    });
    let gentle = gentle.await.unwrap();
    let stubborn = executor.start("stubborn", async |_| pending::<Result<(), io::Error>>().await).await.unwrap();
    has_begun.await.unwrap();
    let ended = executor.shut_down(Duration::from_millis(200)).await;
    assert_eq!(ended.dropped, 1);
    gentle.ended().await.unwrap();
    assert!(matches!(stubborn.ended().await.unwrap_err(), ExecutorError::Cancelled("stubborn")));
    assert_eq!(executor.running(), 0);
    let late = executor.start("late", async |_| FINE).await.unwrap_err();
    assert!(matches!(late, ExecutorError::ShutDown("late")), "{late}");
    assert!(executor.try_start("late", async |_| FINE).is_err());
}

/// What work publishes carries the context of who started it.
#[tokio::test]
async fn work_keeps_the_context_of_its_start() {
    let floor = crate::floor::Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let executor = Executor::new(1);
    let seen = outbox.scope_with(outbox::Metadata::default().actor("u-7"), async {
        let (tell, told) = oneshot::channel();
        let work = async move |_| {
            tell.send(outbox::context()).unwrap();
            FINE
        };
        executor.start("context", work).await.unwrap();
        told.await.unwrap()
    });
    assert_eq!(seen.await.actor.as_deref(), Some("u-7"));
}
