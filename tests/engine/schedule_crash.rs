//! A scheduler that dies, is cut off or stands still at each of its statements.

use std::sync::mpsc;

use outbox_testing::DEADLINE;
use outbox_testing::fault::{Point, Process, ProcessHandle, Proxy, Then, Trap};

use crate::floor::{Floor, Worker};
use crate::process::{command, command_to};
use crate::schedule::assert_one_job_a_second;
use crate::support::skipped_behind_a_pooler;
use crate::{proxy, sql};

const LANE: &str = "outbox schedule";

/// Every place in the taking of a tick, and whether it is taken there already.
fn points() -> Vec<(Point, bool)> {
    let mut points = Vec::new();
    for name in ["schedule_due", "schedule_lock", "schedule_take"] {
        points.extend([(Point::before(name), false), (Point::after(name), false)]);
    }
    let commit = |side: fn(&'static str) -> Point| side("commit").following("schedule_take");
    points.extend([(commit(Point::before), false), (commit(Point::after), true)]);
    points.into_iter().map(|(point, taken)| (point.of(LANE), taken)).collect()
}

const TICK: &str = "2026-03-28 02:00:00Z";

/// A schedule one of whose ticks is long due, so that the same newest one is taken whoever takes it.
async fn long_due() -> Floor {
    let floor = Floor::new().await;
    floor.outbox(&["night.scan"]).build().await.unwrap();
    floor.sandbox.execute(&format!("update :schema.schedule set next_tick = '{TICK}'")).await;
    floor
}

/// The one tick that was due has one job and one effect, and the next one lies ahead.
async fn assert_taken_once(floor: &Floor, what: &str) {
    floor.until_number("select count(*) from :schema.schedule where next_tick > now()", 1).await;
    let jobs = floor.until_settled().await;
    assert_eq!((jobs.len(), jobs.succeeded()), (1, 1), "{what}: {jobs:#?}");
    assert_eq!(floor.sandbox.number("select count(*) from :schema.done").await, 1, "{what}");
    let ticks =
        "select count(*) from :schema.job j, :schema.schedule s where (j.payload->>'at')::timestamptz = s.last_tick";
    assert_eq!(floor.sandbox.number(ticks).await, 1, "{what}");
}

/// A process that goes through the proxy, and what happens to it there.
fn through(proxy: &Proxy, floor: &Floor, point: Point, what: fn(&ProcessHandle) -> Then) -> (Trap, Process) {
    // The trap is set before there is a process that it could kill.
    let (give, take) = mpsc::channel::<ProcessHandle>();
    let trap = proxy.call_at(point, move || what(&take.recv_timeout(DEADLINE).unwrap()));
    let process = Process::spawn(&mut command_to(&proxy.url(), floor, &["night.scan"])).unwrap();
    give.send(process.handle()).unwrap();
    (trap, process)
}

/// S0-36, B23, B17: a process that dies before or behind each statement of taking a tick leaves it untaken, or taken with its job, and never
/// half: another takes what is left, and each tick has one job.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scheduler_killed_at_any_statement_loses_no_tick_and_doubles_none() {
    if skipped_behind_a_pooler("the process goes to the server through the proxy") {
        return;
    }
    for (point, taken) in points() {
        let what = point.to_string();
        let (floor, proxy) = (long_due().await, proxy::start().await);
        let (trap, process) = through(&proxy, &floor, point, |process| {
            process.kill().unwrap();
            Then::Cut
        });
        trap.until_reached().await;
        assert!(!process.ended().await.success(), "{what}");
        let jobs = floor.sandbox.number("select count(*) from :schema.job").await;
        assert_eq!(jobs, i64::from(taken), "{what}");
        let other = floor.worker(&["night.scan"]).await;
        assert_taken_once(&floor, &what).await;
        other.stop().await;
    }
}

/// The same where the connection breaks and the process lives: it comes again by itself, whether the answer or the statement was lost.
#[tokio::test]
async fn a_scheduler_cut_off_at_any_statement_goes_on() {
    if skipped_behind_a_pooler("its outboxes go to the server through the proxy") {
        return;
    }
    for (point, _) in points() {
        let what = point.to_string();
        let (floor, proxy) = (long_due().await, proxy::start().await);
        let cut = proxy.cut_at(point);
        let worker = Worker::start(floor.outbox_on(proxy::pool(&proxy), &["night.scan"]).build().await.unwrap());
        cut.until_reached().await;
        assert_taken_once(&floor, &what).await;
        worker.stop().await;
    }
}

/// B17: a scheduler that is frozen behind any of its statements holds nobody up for longer than the server lets its transaction stand, and
/// does nothing about that tick when it wakes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_scheduler_holds_nobody_up_and_doubles_nothing() {
    if skipped_behind_a_pooler("the process goes to the server through the proxy") {
        return;
    }
    for statement in ["schedule_due", "schedule_lock", "schedule_take"] {
        let (floor, proxy) = (long_due().await, proxy::start().await);
        let (trap, process) = through(&proxy, &floor, Point::after(statement).of(LANE), |process| {
            process.freeze().unwrap();
            Then::Pass
        });
        trap.until_reached().await;
        let other = floor.worker(&["night.scan"]).await;
        assert_taken_once(&floor, statement).await;
        process.thaw().unwrap();
        // It looks again, and finds that the tick is another's.
        let looks = proxy.all().count("schedule_due");
        outbox_testing::eventually("it has looked again", async || {
            (proxy.all().count("schedule_due") > looks + 1).then_some(())
        })
        .await;
        assert_taken_once(&floor, statement).await;
        other.stop().await;
    }
}

/// B17, Q17: three processes on a schedule that comes round each second, two of them killed in the middle and one begun anew: each second
/// has one job, and none is left out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_processes_of_which_two_are_killed_take_each_second_once() {
    let floor = Floor::new().await;
    let start = async || Process::spawn(&mut command(&floor, &["night.pulse"]).await).unwrap();
    let (first, second, third) = (start().await, start().await, start().await);
    let behind = async |jobs: i64| {
        floor.until_number(&format!("select (count(*) >= {jobs})::int::bigint from :schema.job"), 1).await;
    };
    behind(2).await;
    first.kill().unwrap();
    behind(4).await;
    second.kill().unwrap();
    let fourth = start().await;
    behind(8).await;
    for process in [&third, &fourth] {
        process.terminate().unwrap();
        assert!(process.ended().await.success());
    }
    assert_one_job_a_second(&floor).await;
    assert!(sql::holds(&floor.sandbox, "select max(attempts) <= 2 from :schema.job").await);
}

/// Q17: the database is away over several ticks: the scheduler connects again by itself and catches them up.
#[tokio::test]
async fn an_outage_over_several_ticks_is_caught_up() {
    if skipped_behind_a_pooler("its outboxes go to the server through the proxy") {
        return;
    }
    let (floor, proxy) = (Floor::new().await, proxy::start().await);
    let worker = Worker::start(floor.outbox_on(proxy::pool(&proxy), &["night.pulse"]).build().await.unwrap());
    floor.until_number("select (count(*) >= 2)::int::bigint from :schema.done", 1).await;
    let away = proxy.cut_at(Point::before("schedule_due").every_time());
    let before = floor.sandbox.number("select count(*) from :schema.job").await;
    let late = "select (extract(epoch from now() - next_tick) > 3)::int::bigint from :schema.schedule";
    floor.until_number(late, 1).await;
    assert!(worker.outbox.health().troubles.iter().any(|one| one.service == "schedule"), "{}", worker.outbox.health());
    drop(away);
    floor.until_number(&format!("select (count(*) >= {})::int::bigint from :schema.done", before + 5), 1).await;
    worker.stop().await;
    assert_one_job_a_second(&floor).await;
}
