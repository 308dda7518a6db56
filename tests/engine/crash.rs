//! Real worker processes that die, freeze or are told to end.

use std::time::Instant;

use outbox_testing::eventually;

use crate::floor::{Do, Floor, ask, ask_many};
use crate::process::Process;

/// S2-1, S1-28, S0-30, S0-31: a worker killed in the middle of a handler: its job is taken over by another process, with the crash counted and the attempt charged, and runs to its end with one effect.
#[tokio::test]
async fn the_job_of_a_killed_worker_is_run_by_another() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["till.book"]).build().await.unwrap();
    let event = ask(&outbox, "a", [Do::Hang]).await;
    let first = Process::start(&floor, &["till.book"]).await;
    first.until("began till.book a").await;
    let second = Process::start(&floor, &["till.book"]).await;
    second.until("ready").await;
    first.signal("KILL");
    let job = floor.until("till.book", event, "succeeded").await;
    assert_eq!((job.attempts, job.crashes, floor.effects("a").await), (2, 1, 1));
    assert_eq!((first.heard("began till.book a"), second.heard("began till.book a")), (1, 1));
    let crashed = [("crashed".to_owned(), Some("its worker died while it ran".to_owned()))];
    assert_eq!(floor.history(&job).await, crashed);
}

/// S0-31: rescue comes within a second behind the end of the lease.
#[tokio::test]
async fn rescue_comes_within_a_second_of_the_end_of_the_lease() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&outbox, "a", [Do::Hang, Do::Hang]).await;
    let first = Process::start(&floor, &["desk.note"]).await;
    first.until("began desk.note a").await;
    let rescuer = floor.worker(&["shelf.fill"]).await;
    first.signal("KILL");
    let ends = "create table :schema.lease_end as select l.id, w.expires_at from :schema.job_live l join :schema.worker w on w.id = l.locked_by";
    floor.sandbox.execute(ends).await;
    floor.until("desk.note", event, "pending").await;
    let late = "select (extract(epoch from a.ended_at - e.expires_at) * 1000)::bigint from :schema.attempt a join :schema.lease_end e on e.id = a.job_id";
    let late = floor.sandbox.number(late).await;
    assert!((0..1000).contains(&late), "{late} ms behind the end of the lease");
    rescuer.stop().await;
}

/// S1-27, S0-43, S0-30: of one event's handlers only the one whose worker died is run again; the finished ones are left alone, and the
/// event is not fanned out again.
#[tokio::test]
async fn only_the_interrupted_job_is_repeated() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["till.book", "desk.note", "shelf.fill"]).build().await.unwrap();
    let event = ask(&outbox, "a", [Do::Hang]).await;
    floor.sandbox.execute("update :schema.job_live set attempts = 1 where job_type <> 'till.book'").await;
    let first = Process::start(&floor, &["till.book", "desk.note", "shelf.fill"]).await;
    first.until("began till.book a").await;
    floor.until("desk.note", event, "succeeded").await;
    floor.until("shelf.fill", event, "succeeded").await;
    first.signal("KILL");
    let second = floor.worker(&["till.book", "desk.note", "shelf.fill"]).await;
    let jobs = floor.until_settled().await;
    assert_eq!((jobs.len(), jobs.succeeded(), floor.effects("a").await), (3, 3, 1));
    let times = |handler| floor.stage.executions(handler, "a");
    assert_eq!((times("till.book"), times("desk.note"), times("shelf.fill")), (1, 0, 0));
    second.stop().await;
}

/// O27, Q14, S0-31: a job whose handler aborts the process every time ends as failed, reason crashed, behind three crashes; what
/// ran beside it is charged one attempt at most, and then runs to its end.
#[tokio::test]
async fn a_job_that_kills_its_process_ends_and_spares_its_neighbours() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.patient"]).build().await.unwrap();
    ask_many(&outbox, 5, [Do::Hang]).await;
    let guilty = ask(&outbox, "guilty", vec![Do::Abort; 8]).await;
    let rescuer = floor.worker(&["shelf.fill"]).await;
    let mut deaths = 0;
    let mut process = Process::start(&floor, &["desk.patient"]).await;
    let jobs = eventually("every job has ended", async || {
        if process.has_ended() {
            deaths += 1;
            process = Process::start(&floor, &["desk.patient"]).await;
        }
        Some(floor.sandbox.jobs().await).filter(|jobs| jobs.live() == 0)
    })
    .await;
    let job = floor.job("desk.patient", guilty).await;
    assert_eq!((job.status.as_str(), job.reason.as_deref(), job.crashes), ("failed", Some("crashed"), 3));
    // Of the second death it is not charged, if others that had crashed with it ran beside it.
    assert!(deaths == 3 && (2..=3).contains(&job.attempts), "{deaths} deaths, {job:?}");
    let neighbours: Vec<_> = jobs.0.iter().filter(|job| job.event_id != Some(guilty)).collect();
    assert!(
        neighbours.iter().all(|job| job.status == "succeeded" && job.crashes <= 2 && job.attempts <= 2),
        "{jobs:#?}"
    );
    rescuer.stop().await;
}

/// B19: a worker that dies on a job's last attempt leaves it failed, reason crashed, not running for ever.
#[tokio::test]
async fn a_kill_on_the_last_attempt_ends_the_job() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.once"]).build().await.unwrap();
    let event = ask(&outbox, "a", [Do::Hang]).await;
    let first = Process::start(&floor, &["desk.once"]).await;
    first.until("began desk.once a").await;
    first.signal("KILL");
    let rescuer = floor.worker(&["shelf.fill"]).await;
    let job = floor.until("desk.once", event, "failed").await;
    assert_eq!((job.reason.as_deref(), job.attempts), (Some("crashed"), 1));
    assert!(job.last_error.is_some_and(|error| error.contains("its worker died")));
    assert_eq!(rescuer.outbox.failed(10).await.unwrap().len(), 1);
    rescuer.stop().await;
}

/// Q3, O23: a node that does not know the handler takes the dead worker's job back for its owner: it waits, is never discarded,
/// and is run by a process that knows it. Q19: the dead worker is known by its lease, whatever new process has its name.
#[tokio::test]
async fn a_node_without_the_handler_rescues_for_its_owner() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&outbox, "a", [Do::Hang]).await;
    let first = Process::start(&floor, &["desk.note"]).await;
    first.until("began desk.note a").await;
    floor.sandbox.execute("update :schema.worker set name = 'same'").await;
    first.signal("KILL");
    let stranger = floor.outbox(&["shelf.fill"]).name("same").build().await.unwrap();
    let stranger = crate::floor::Worker::start(stranger);
    let job = floor.until("desk.note", event, "pending").await;
    assert_eq!((job.crashes, job.attempts, job.reason), (1, 1, None));
    assert_eq!(floor.stage.executions("desk.note", "a"), 0);
    let owner = floor.worker(&["desk.note"]).await;
    floor.until("desk.note", event, "succeeded").await;
    stranger.stop().await;
    owner.stop().await;
    assert_eq!(floor.sandbox.number("select count(*) from :schema.worker where dead_at is null").await, 0);
}

/// Q2, B6, S0-23: a worker frozen beyond its lease, whose job another has run meanwhile, wakes up: what it comes to is refused,
/// its effect rolled back, and the job stands as the other one left it. It goes on under a new id.
#[tokio::test]
async fn a_frozen_worker_changes_nothing_when_it_wakes() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["till.book", "desk.note"]).build().await.unwrap();
    let event = ask(&outbox, "a", [Do::Slow(1500)]).await;
    let first = Process::start(&floor, &["till.book", "desk.note"]).await;
    first.until("began till.book a").await;
    first.until("began desk.note a").await;
    first.signal("STOP");
    let second = floor.worker(&["till.book", "desk.note"]).await;
    floor.until_settled().await;
    let stood = [floor.job("till.book", event).await, floor.job("desk.note", event).await];
    assert!(stood.iter().all(|job| job.status == "succeeded" && job.attempts == 2 && job.crashes == 1), "{stood:#?}");
    assert_eq!(floor.effects("a").await, 1);
    first.signal("CONT");
    first.until("ended till.book a").await;
    first.until("ended desk.note a").await;
    floor.until_number("select count(*) from :schema.worker where dead_at is null", 2).await;
    assert_eq!([floor.job("till.book", event).await, floor.job("desk.note", event).await], stood);
    assert_eq!(floor.effects("a").await, 1);
    second.stop().await;
    let after = ask(&outbox, "b", []).await;
    floor.until("till.book", after, "succeeded").await;
    first.until("began till.book b").await;
}

/// O28, Q29: a process that gets SIGTERM in the middle of a handler that does not end gives the job back at once, with no attempt
/// charged, and ends in order within its budget of one second and one second more.
#[tokio::test]
async fn sigterm_gives_the_job_back_uncharged() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.note"]).build().await.unwrap();
    let event = ask(&outbox, "a", [Do::Hang]).await;
    let mut first = Process::start(&floor, &["desk.note"]).await;
    first.until("began desk.note a").await;
    let asked = Instant::now();
    first.signal("TERM");
    let status = first.ended().await;
    assert!(asked.elapsed().as_secs_f64() < 2.0, "{:?}", asked.elapsed());
    assert!(status.success());
    assert_eq!(first.heard("orderly end"), 1);
    let job = floor.job("desk.note", event).await;
    assert_eq!((job.status.as_str(), job.attempts, job.crashes), ("pending", 0, 0));
    assert_eq!(floor.sandbox.number("select count(*) from :schema.job_live where available_at <= now()").await, 1);
    assert_eq!(floor.sandbox.number("select count(*) from :schema.worker").await, 0);
}
