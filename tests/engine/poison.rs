//! Handlers that take their process down, or its threads: they end, and what runs beside them does not suffer.

use std::time::Instant;

use outbox_testing::eventually;
use outbox_testing::fault::Process;

use crate::floor::{Do, Floor, LEASE, ask, ask_many};
use crate::process::{BUDGET, bounded, command};

/// Enough for the process, and too little for `Do::Exhaust`.
const ADDRESS_SPACE: u32 = 4 << 20;

/// A handler does this to its process at every execution, in a plain job and in a transactional one: both end as failed, reason
/// crashed, at the third crash. What ran beside them is charged one attempt at most, and ends well, its effect there once.
async fn poisoned_by(poison: Do) {
    let handlers = ["desk.patient", "till.book"];
    let floor = Floor::new().await;
    let outbox = floor.outbox(&handlers).build().await.unwrap();
    ask_many(&outbox, 4, [Do::Hang]).await;
    let guilty = ask(&outbox, "guilty", vec![poison; 8]).await;
    let rescuer = floor.worker(&["shelf.fill"]).await;
    let start = async || Process::spawn(&mut bounded(&command(&floor, &handlers).await, ADDRESS_SPACE)).unwrap();
    let mut process = start().await;
    let mut deaths = 0;
    let jobs = eventually("every job has ended", async || {
        if let Some(status) = process.try_ended().unwrap() {
            assert!(!status.success());
            deaths += 1;
            process = start().await;
        }
        Some(floor.sandbox.jobs().await).filter(|jobs| jobs.live() == 0)
    })
    .await;
    for handler in handlers {
        let job = floor.job(handler, guilty).await;
        let stands = (job.status.as_str(), job.reason.as_deref(), job.crashes, job.attempts);
        assert_eq!(stands, ("failed", Some("crashed"), 3, 2), "{handler}");
    }
    // The first two take both along, the second in doubt; from then on each is alone.
    assert_eq!(deaths, 4);
    let neighbours: Vec<_> = jobs.0.iter().filter(|job| job.event_id != Some(guilty)).collect();
    assert_eq!(neighbours.len(), 8);
    let unharmed = |job: &&_| {
        let job: &outbox_testing::JobRow = job;
        job.status == "succeeded" && job.crashes <= 2 && job.attempts <= 2
    };
    assert!(neighbours.iter().all(unharmed), "{neighbours:#?}");
    assert_eq!((floor.effects("n0").await, floor.effects("guilty").await), (1, 0));
    rescuer.stop().await;
}

/// Q14, O27: memory runs out, and an allocation that fails aborts the process.
#[tokio::test]
async fn a_handler_that_exhausts_memory_ends_and_spares_its_neighbours() {
    poisoned_by(Do::Exhaust).await;
}

/// Q14, O27: the stack runs out, which ends the process by a signal.
#[tokio::test]
async fn a_handler_that_overflows_the_stack_ends_and_spares_its_neighbours() {
    poisoned_by(Do::Overflow).await;
}

/// Q18, O8: more handlers than the runtime has threads block theirs, one wave behind the other and each for longer than the lease:
/// it is renewed all the time, and nobody else runs any of them.
#[tokio::test]
async fn handlers_that_block_every_thread_keep_the_lease() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.patient"]).build().await.unwrap();
    // Two threads, three waves.
    ask_many(&outbox, 5, [Do::Block(2_300)]).await;
    let process = Process::spawn(&mut command(&floor, &["desk.patient"]).await).unwrap();
    eventually("a handler blocks", async || {
        process.lines().iter().any(|line| line.contains("began desk.patient")).then_some(())
    })
    .await;
    let begun = Instant::now();
    let other = floor.worker(&["desk.patient"]).await;
    let jobs = floor.until_settled().await;
    assert!(begun.elapsed() > 2 * LEASE, "{:?}", begun.elapsed());
    assert!(jobs.0.iter().all(|job| job.status == "succeeded" && job.attempts == 1 && job.crashes == 0), "{jobs:#?}");
    assert!(floor.stage.order("desk.patient").is_empty(), "all of them ran in the process that was blocked");
    other.stop().await;
}

/// A worker that is killed loses its jobs to others within its lease, here the shortest, and a second: from the kill to the moment
/// in which the last of them has begun elsewhere, all beside each other. The one that rescues does not know the handler, and the one that runs it does not poll
/// meanwhile.
#[tokio::test]
async fn the_jobs_of_a_killed_worker_run_elsewhere_within_lease_and_a_second() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    ask_many(&outbox, 6, [Do::Hang, Do::Wait("end".into())]).await;
    let first = Process::spawn(&mut command(&floor, &["desk.note"]).await).unwrap();
    for n in 0..6 {
        first.until(&format!("began desk.note n{n}")).await;
    }
    let rescuer = floor.worker(&["shelf.fill"]).await;
    let runner = floor.outbox(&["desk.note"]).poll_interval(std::time::Duration::from_hours(1));
    let runner = crate::floor::Worker::start(runner.build().await.unwrap());
    floor.until_number("select count(*) from :schema.worker", 3).await;
    first.kill().unwrap();
    let killed = Instant::now();
    for n in 0..6 {
        floor.until_begun("desk.note", &format!("n{n}"), 1).await;
    }
    assert!(killed.elapsed() < LEASE + std::time::Duration::from_secs(1), "{:?}", killed.elapsed());
    floor.stage.open("end");
    floor.until_settled().await;
    runner.stop().await;
    rescuer.stop().await;
}

/// Q29, B18: SIGTERM with a handler of ten seconds and a budget of two: the process has ended within three, in order, and the job is
/// due at once, uncharged.
#[tokio::test]
async fn sigterm_ends_within_the_budget_and_a_second() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.patient"]).build().await.unwrap();
    let event = ask(&outbox, "a", [Do::Slow(10_000)]).await;
    let process = Process::spawn(command(&floor, &["desk.patient"]).await.env(BUDGET, "2000")).unwrap();
    process.until("began desk.patient a").await;
    process.terminate().unwrap();
    let asked = Instant::now();
    assert!(process.ended().await.success());
    let took = asked.elapsed().as_secs_f64();
    assert!((2.0..3.0).contains(&took), "the budget was used, and not much more: {took} s");
    assert_eq!(process.heard("orderly end"), 1);
    let job = floor.job("desk.patient", event).await;
    assert_eq!((job.status.as_str(), job.attempts, job.crashes), ("pending", 0, 0));
    assert_eq!(floor.sandbox.number("select count(*) from :schema.job_live where available_at <= now()").await, 1);
}
