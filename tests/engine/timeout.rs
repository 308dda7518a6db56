//! How long a handler may take, and that its retry does not meet it.

use std::time::Duration;

use outbox::Registry;
use outbox_testing::eventually;

use crate::floor::{Do, Floor, Worker, ask};

/// Q24: what a handler says of its time, times how long the worker's lease is: the handler's own word is what counts, a default of a
/// minute where it says none, and neither is touched by the lease. Each job takes longer than the short lease; only one is over
/// its time. There is no "no timeout": a time of zero does not compile (`tests/ui/subscriber/zero_timeout.rs`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handlers_time_is_its_own_whatever_the_lease() {
    let cases = [
        ("desk.note", Duration::from_mins(1), "succeeded"),
        ("desk.quick", Duration::from_millis(300), "failed"),
        ("desk.long", Duration::from_hours(1), "succeeded"),
    ];
    let linked = Registry::linked();
    for (handler, timeout, _) in cases {
        let settings = linked.subscribers().iter().find(|one| one.name == handler).unwrap().settings;
        assert_eq!(settings.timeout, timeout, "{handler}");
    }
    for lease in [Duration::from_secs(2), Duration::from_secs(10)] {
        let floor = Floor::new().await;
        let handlers = cases.map(|(handler, ..)| handler);
        let worker = Worker::start(floor.outbox(&handlers).lease(lease).build().await.unwrap());
        let other = Worker::start(floor.outbox(&handlers).lease(lease).build().await.unwrap());
        let event = ask(&worker.outbox, "a", vec![Do::Slow(2_500); 2]).await;
        floor.until_settled().await;
        for (handler, timeout, status) in cases {
            let job = floor.job(handler, event).await;
            assert_eq!((job.status.as_str(), job.crashes), (status, 0), "{handler} with a lease of {lease:?}");
            let executions = if status == "failed" { 2 } else { 1 };
            assert_eq!(floor.stage.executions(handler, "a"), executions, "{handler} with a lease of {lease:?}");
            let told = format!("the handler timed out after {timeout:?}");
            assert_eq!(job.last_error, (status == "failed").then_some(told), "{handler} with a lease of {lease:?}");
        }
        worker.stop().await;
        other.stop().await;
    }
}

/// Q11: a handler that blocks its thread ignores its timeout. It holds its claim and its slot until it lets go, so that its retry
/// does not begin beside it; what it comes to then is its outcome: done, when it is done, and timed out, when it is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_retry_does_not_begin_while_the_blocked_handler_runs() {
    for (first, attempts) in [(Do::Block(900), 1), (Do::BlockThenHang(900), 2)] {
        let floor = Floor::new().await;
        let worker = floor.worker(&["desk.quick"]).await;
        let other = floor.worker(&["desk.quick"]).await;
        let event = ask(&worker.outbox, "a", [first.clone()]).await;
        floor.until_begun("desk.quick", "a", 1).await;
        eventually("the first execution has ended", async || {
            let job = floor.job("desk.quick", event).await;
            let ended = !floor.stage.noted("ended desk.quick ").is_empty();
            assert!(ended || (job.status == "running" && job.attempts == 1), "{first:?}: {job:?}");
            ended.then_some(())
        })
        .await;
        let job = floor.until("desk.quick", event, "succeeded").await;
        assert_eq!((job.attempts, floor.stage.most_at_once("desk.quick")), (attempts, 1), "{first:?}");
        let timed_out = floor
            .history(&job)
            .await
            .iter()
            .filter(|(_, error)| error.as_ref().is_some_and(|it| it.contains("timed out")))
            .count();
        assert_eq!(timed_out, usize::try_from(attempts - 1).unwrap(), "{first:?}");
        worker.stop().await;
        other.stop().await;
    }
}

/// Q11: nor when its lease was lost meanwhile and the job comes back to the very process in which it still runs: there it is put
/// off, uncharged, until the first execution has let go.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_job_that_still_runs_here_is_put_off() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["desk.patient"]).await;
    let event = ask(&worker.outbox, "a", [Do::BlockUntil("end".into())]).await;
    floor.until_begun("desk.patient", "a", 1).await;
    floor.sandbox.execute("update :schema.worker set dead_at = now()").await;
    let put_off = "select count(*) from :schema.job_live where status = 'pending' and available_at > now() and attempts = 1 and crashes = 1";
    floor.until_number(put_off, 1).await;
    assert_eq!((floor.stage.executions("desk.patient", "a"), floor.stage.running()), (1, 1));
    floor.stage.open("end");
    let job = floor.until("desk.patient", event, "succeeded").await;
    assert_eq!((job.attempts, job.crashes, floor.stage.executions("desk.patient", "a")), (2, 1, 2));
    assert_eq!(floor.stage.most_at_once("desk.patient"), 1);
    worker.stop().await;
}
