//! schedule: ticks become jobs, one each, and run as any job does.

use outbox::prelude::*;
use outbox::{Cadence, CatchUp, Drained, Overlap, Schedule, SubscriberDescriptor};
use outbox_testing::eventually;

use crate::floor::{Floor, Stage, Worker};
use crate::linkage::{linking, scheduled as handler};
use crate::sql::{text, texts};
use crate::support::Shop;

/// Has its effect in its transaction, and tells for which time. Fails once where the effect of `fail` is there.
#[scheduled(cron = "0 3 * * *", tz = "Europe/Paris", name = "night.scan", max_attempts = 3, backoff = fixed("100ms"))]
async fn scan(tick: Tick, mut tx: Tx<'_>, Attempt(attempt): Attempt, State(stage): State<Stage>) -> HandlerResult {
    stage.note(format!("scan {} attempt {attempt} {} by hand {}", tick.at, tick.local(), tick.by_hand));
    stage.effect(&mut tx, "night.scan", &tick.at.to_rfc3339()).await?;
    if attempt == 1 && tick.by_hand {
        return Err("not at the first try".into());
    }
    Ok(())
}

/// Comes round each second, and says so.
#[scheduled(every = "1s", name = "night.pulse", catch_up = all(100), overlap = allow)]
async fn pulse(tick: Tick, mut tx: Tx<'_>, State(stage): State<Stage>) -> HandlerResult {
    stage.effect(&mut tx, "night.pulse", &tick.at.to_rfc3339()).await?;
    Ok(())
}

/// A schedule by hand: a cadence, `latest`, no overlap.
pub const fn by(cadence: Cadence) -> Schedule {
    Schedule { cadence, catch_up: CatchUp::Latest, overlap: Overlap::Skip }
}

pub const MINUTELY: Cadence = Cadence::Every("1m");

/// One that comes round each minute.
pub const fn minutely(name: &'static str, catch_up: CatchUp, overlap: Overlap) -> SubscriberDescriptor {
    handler(name, Schedule { cadence: MINUTELY, catch_up, overlap })
}

pub fn outbox(shop: &Shop, handlers: impl IntoIterator<Item = SubscriberDescriptor>) -> outbox::OutboxBuilder {
    shop.bare(linking(handlers)).poll_interval(std::time::Duration::from_millis(50))
}

/// As if nobody had taken its ticks for so long: its next one is that old, on a full minute.
pub async fn overdue(shop: &Shop, name: &str, age: &str) {
    let back = format!(
        "update :schema.schedule set next_tick = date_trunc('minute', now()) - interval '{age}', last_tick = null where name = '{name}'"
    );
    shop.sandbox.execute(&back).await;
}

/// Jobs of it, in all.
pub async fn jobs(shop: &Shop, name: &str) -> i64 {
    shop.sandbox.number(&format!("select count(*) from :schema.job where job_type = '{name}'")).await
}

/// Waits until its next tick lies ahead, and answers how many minutes ago each of its jobs' ticks was.
pub async fn ages(shop: &Shop, name: &str) -> Vec<String> {
    let ahead = format!("select count(*) from :schema.schedule where name = '{name}' and next_tick > now()");
    eventually("its next tick lies ahead", async || (shop.sandbox.number(&ahead).await == 1).then_some(())).await;
    let ages = format!(
        "select round(extract(epoch from date_trunc('minute', s.next_tick) - (j.payload->>'at')::timestamptz) / 60)::text
         from :schema.job j join :schema.schedule s on s.name = j.job_type where s.name = '{name}' order by j.id"
    );
    texts(&shop.sandbox, &ages).await
}

/// S0-36, S0-37, S0-39: a tick becomes one job of the schedule's name, without an event, which the ordinary worker claims and runs with its
/// transaction; the function is told the tick's time, on the clocks of its zone. Then the next tick lies ahead and the last one is known.
#[tokio::test]
async fn a_tick_becomes_one_job_and_is_run() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["night.scan"]).build().await.unwrap();
    floor.sandbox.execute("update :schema.schedule set next_tick = '2026-03-29 01:00:00Z'").await;
    let worker = Worker::start(outbox);
    floor.until_number("select count(*) from :schema.job_succeeded", 1).await;
    let job = floor.sandbox.jobs().await.only().clone();
    assert_eq!((job.handler.as_str(), job.event_id, job.attempts), ("night.scan", None, 1));
    // The newest of the ticks since then: it was missed.
    let notes = floor.stage.noted("scan ");
    let at = text(
        &floor.sandbox,
        "select to_char(last_tick at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') from :schema.schedule",
    )
    .await;
    assert!(notes.len() == 1 && notes[0].starts_with(&format!("{at} UTC attempt 1 ")), "{notes:?} for {at}");
    assert!(notes[0].ends_with(" 03:00:00 by hand false"), "{notes:?}");
    let status = outbox_status(&worker).await;
    let next = text(
        &floor.sandbox,
        "select to_char(next_tick at time zone 'Europe/Paris', 'HH24:MI:SS') from :schema.schedule",
    )
    .await;
    assert_eq!(next, "03:00:00");
    let ahead = status.next_tick.unwrap() - status.now;
    assert!(ahead.num_seconds() > 0 && ahead.num_hours() <= 25, "{ahead}");
    assert!(status.last_tick.is_some() && status.late().is_zero());
    worker.stop().await;
}

async fn outbox_status(worker: &Worker) -> outbox::ScheduleStatus {
    worker.outbox.schedules().of("night.scan").await.unwrap()
}

/// S0-37: a run that fails is tried again by its own policy, for the same tick, and has its effect once.
#[tokio::test]
async fn a_run_that_fails_is_tried_again_for_the_same_tick() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["night.scan"]).await;
    worker.outbox.schedules().run_now("night.scan").await.unwrap();
    floor.until_number("select count(*) from :schema.job_succeeded", 1).await;
    let notes = floor.stage.noted("scan ");
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("attempt 1") && notes[1].contains("attempt 2"), "{notes:?}");
    assert_eq!(notes[0].split(" attempt").next(), notes[1].split(" attempt").next());
    assert_eq!(floor.sandbox.number("select count(*) from :schema.done").await, 1);
    worker.stop().await;
}

/// S0-36: each second has one job, and none is left out, for as long as a worker runs.
#[tokio::test]
async fn each_second_has_its_job() {
    let floor = Floor::new().await;
    let worker = floor.worker(&["night.pulse"]).await;
    floor.until_number("select (count(*) >= 4)::int::bigint from :schema.done", 1).await;
    worker.stop().await;
    assert_one_job_a_second(&floor).await;
}

/// Every second from the first tick to the last has one job.
pub async fn assert_one_job_a_second(floor: &Floor) {
    let (jobs, ticks, span) = (
        "select count(*) from :schema.job",
        "select count(distinct payload->>'at') from :schema.job",
        "select (extract(epoch from max((payload->>'at')::timestamptz) - min((payload->>'at')::timestamptz)))::bigint + 1 from :schema.job",
    );
    let (jobs, ticks, span) =
        (floor.sandbox.number(jobs).await, floor.sandbox.number(ticks).await, floor.sandbox.number(span).await);
    assert_eq!((jobs, ticks), (span, span), "one job for each second");
}

/// S0-39, Q17: after an absence of all workers the policy says which of the missed ticks are run, each once; then the next one lies ahead.
/// The ticks come from what is stored, so a process that is started anew, however often, loses none.
#[tokio::test]
async fn missed_ticks_are_caught_up_by_policy() {
    let shop = Shop::new().await;
    let all = || {
        [
            minutely("night.skip", CatchUp::Skip, Overlap::Skip),
            minutely("night.latest", CatchUp::Latest, Overlap::Skip),
            minutely("night.few", CatchUp::All(3), Overlap::Allow),
            minutely("night.all", CatchUp::All(100), Overlap::Allow),
        ]
    };
    outbox(&shop, all()).build().await.unwrap();
    for name in ["night.skip", "night.latest", "night.few", "night.all"] {
        overdue(&shop, name, "5 minutes").await;
    }
    // Nothing is lost by starting anew, and a start alone takes no tick.
    for _ in 0..3 {
        outbox(&shop, all()).build().await.unwrap();
    }
    assert_eq!(shop.sandbox.number("select count(*) from :schema.job").await, 0);
    let worker = Worker::start(outbox(&shop, all()).build().await.unwrap());
    assert_eq!(ages(&shop, "night.latest").await, ["1"]);
    assert_eq!(ages(&shop, "night.few").await, ["3", "2", "1"]);
    assert_eq!(ages(&shop, "night.all").await, ["6", "5", "4", "3", "2", "1"]);
    // The newest is on time for the first minute, and the test may begin at any second of it.
    assert!(ages(&shop, "night.skip").await.len() <= 1);
    worker.stop().await;
    let passed = texts(
        &shop.sandbox,
        "select name || ' ' || passed_over from :schema.schedule where name <> 'night.skip' order by name",
    )
    .await;
    assert_eq!(passed, ["night.all 0", "night.few 1", "night.latest 1"]);
}

/// S0-39: what is to be skipped is not run when its time is over.
#[tokio::test]
async fn a_tick_that_is_to_be_skipped_is_not_run_late() {
    let shop = Shop::new().await;
    let hourly = || {
        handler(
            "night.skip",
            Schedule { cadence: Cadence::Every("36500d"), catch_up: CatchUp::Skip, overlap: Overlap::Skip },
        )
    };
    outbox(&shop, [hourly()]).build().await.unwrap();
    overdue(&shop, "night.skip", "2 minutes").await;
    let worker = Worker::start(outbox(&shop, [hourly()]).build().await.unwrap());
    assert_eq!(ages(&shop, "night.skip").await, [""; 0]);
    let status = worker.outbox.schedules().of("night.skip").await.unwrap();
    assert_eq!((status.passed_over, status.last_tick), (1, None));
    worker.stop().await;
}

/// S0-39, B23: while the run of a former tick has not ended, be it running, waiting or to be tried again, a tick is passed over; where
/// overlaps are allowed it has its job. Afterwards the schedule goes on.
#[tokio::test]
async fn a_tick_does_not_overlap_the_run_of_the_former_one() {
    let shop = Shop::new().await;
    let all = || {
        [
            minutely("night.alone", CatchUp::Latest, Overlap::Skip),
            minutely("night.beside", CatchUp::Latest, Overlap::Allow),
        ]
    };
    // A former run of each, which is to be tried again tomorrow.
    let former = outbox(&shop, all()).build().await.unwrap();
    for name in ["night.alone", "night.beside"] {
        former.schedules().run_now(name).await.unwrap();
        overdue(&shop, name, "0 minutes").await;
    }
    shop.sandbox.execute("update :schema.job_live set available_at = now() + interval '1 day', attempts = 1").await;
    let worker = Worker::start(outbox(&shop, all()).build().await.unwrap());
    ages(&shop, "night.alone").await;
    ages(&shop, "night.beside").await;
    assert_eq!((jobs(&shop, "night.alone").await, jobs(&shop, "night.beside").await), (1, 2));
    let status = worker.outbox.schedules().of("night.alone").await.unwrap();
    assert_eq!((status.passed_over, status.last_tick), (1, None));
    // The former run ends.
    shop.sandbox.execute("update :schema.job_live set available_at = now()").await;
    eventually("no job is left", async || (shop.sandbox.jobs().await.live() == 0).then_some(())).await;
    overdue(&shop, "night.alone", "0 minutes").await;
    ages(&shop, "night.alone").await;
    assert_eq!(jobs(&shop, "night.alone").await, 2);
    worker.stop().await;
}

/// S1-58, S1-57: a run that ended as failed does not end the schedule: nothing but the clock brings on the next tick.
#[tokio::test]
async fn a_dead_run_does_not_end_the_schedule() {
    let shop = Shop::new().await;
    let all = || [minutely("night.alone", CatchUp::Latest, Overlap::Skip)];
    let built = outbox(&shop, all()).build().await.unwrap();
    let job = built.schedules().run_now("night.alone").await.unwrap();
    built.cancel(job, "it was in the way").await.unwrap();
    overdue(&shop, "night.alone", "0 minutes").await;
    let worker = Worker::start(built);
    ages(&shop, "night.alone").await;
    eventually("the tick was run", async || (shop.sandbox.jobs().await.succeeded() == 1).then_some(())).await;
    worker.stop().await;
}

/// S1-59: a tick that has had its job has no second one, whatever became of the job: nothing of it is left here, and the row was put back
/// by hand.
#[tokio::test]
async fn a_tick_has_one_job_also_when_nothing_is_left_of_it() {
    let shop = Shop::new().await;
    let all = || [minutely("night.alone", CatchUp::All(10), Overlap::Allow)];
    outbox(&shop, all()).build().await.unwrap();
    overdue(&shop, "night.alone", "3 minutes").await;
    let worker = Worker::start(outbox(&shop, all()).build().await.unwrap());
    assert_eq!(ages(&shop, "night.alone").await, ["4", "3", "2", "1"]);
    eventually("all of it has run", async || (shop.sandbox.jobs().await.succeeded() == 4).then_some(())).await;
    worker.stop().await;
    shop.sandbox.execute("set session_replication_role = replica; truncate :schema.job_succeeded; set session_replication_role = origin").await;
    shop.sandbox.execute("update :schema.schedule set next_tick = last_tick - interval '2 minutes'").await;
    let worker = Worker::start(outbox(&shop, all()).build().await.unwrap());
    ages(&shop, "night.alone").await;
    // A minute may have gone by meanwhile, and has its own.
    let again = "select count(*) from :schema.job j, :schema.schedule s where (j.payload->>'at')::timestamptz < s.next_tick - interval '2 minutes'";
    assert_eq!(shop.sandbox.number(again).await, 0);
    worker.stop().await;
}

/// S0-36: the id of a tick's job, and so the idempotency key of its run, is the same however it comes to be written again, and another for
/// another tick or another installation.
#[tokio::test]
async fn the_key_of_a_tick_is_always_the_same() {
    let (shop, other) = (Shop::new().await, Shop::new().await);
    let mut ids = Vec::new();
    for shop in [&shop, &shop, &other] {
        let built = outbox(shop, [minutely("night.alone", CatchUp::Latest, Overlap::Allow)]).build().await.unwrap();
        shop.sandbox.execute("delete from :schema.job_live; update :schema.schedule set last_tick = null, next_tick = '2026-01-01Z', cadence = '0 0 1 1 *'").await;
        let tick = outbox_core::tick::job_id(seed(shop).await, "2026-01-01T00:00:00Z".parse().unwrap());
        let worker = Worker::start(built);
        ages(shop, "night.alone").await;
        eventually("it has run", async || (shop.sandbox.jobs().await.live() == 0).then_some(())).await;
        worker.stop().await;
        let jobs = shop.sandbox.jobs().await;
        assert!(jobs.0.iter().any(|job| job.id == tick), "{jobs:?}");
        ids.push(tick);
    }
    assert!(ids[0] == ids[1] && ids[0] != ids[2], "{ids:?}");
}

async fn seed(shop: &Shop) -> sqlx::types::Uuid {
    text(&shop.sandbox, "select seed::text from :schema.schedule").await.parse().unwrap()
}

/// S0-38: nobody leads: a process that runs no schedule takes no tick, and one that does needs nothing but the tables. A drain takes none
/// either: in a test a run is asked for.
#[tokio::test]
async fn a_drain_takes_no_tick_and_runs_what_is_asked_for() {
    let shop = Shop::new().await;
    let built = outbox(&shop, [minutely("night.alone", CatchUp::Latest, Overlap::Skip)]).build().await.unwrap();
    overdue(&shop, "night.alone", "0 minutes").await;
    assert_eq!(built.drain().await.unwrap(), Drained { executions: 0 });
    built.schedules().run_now("night.alone").await.unwrap();
    assert_eq!(built.drain().await.unwrap(), Drained { executions: 1 });
    assert_eq!(shop.script.count("night.alone"), 1);
}

/// Health tells of a schedule whose tick nobody takes, here because somebody holds its row; other jobs are run, so the worker is ready.
#[tokio::test]
async fn health_tells_of_a_late_schedule() {
    let shop = Shop::new().await;
    let all = || [minutely("night.alone", CatchUp::Latest, Overlap::Skip)];
    let built = outbox(&shop, all()).build().await.unwrap();
    overdue(&shop, "night.alone", "5 minutes").await;
    let mut holding = shop.sandbox.pool().begin().await.unwrap();
    let hold = crate::sql::filled(&shop.sandbox, "select 1 from :schema.schedule for update");
    sqlx::query(hold).execute(&mut *holding).await.unwrap();
    let worker = Worker::start(built);
    let late = eventually("a schedule is late", async || worker.outbox.health().late.first().cloned()).await;
    assert!(late.schedule == "night.alone" && late.lasting.as_secs() >= 299, "{late:?}");
    eventually("it is ready", async || worker.outbox.health().is_ready().then_some(())).await;
    let said = worker.outbox.health().to_string();
    assert!(said.contains("; the schedule `night.alone` has been due for "), "{said}");
    assert!(worker.outbox.schedules().of("night.alone").await.unwrap().late().as_secs() >= 299);
    holding.rollback().await.unwrap();
    ages(&shop, "night.alone").await;
    eventually("it is late no more", async || worker.outbox.health().late.is_empty().then_some(())).await;
    worker.stop().await;
}
