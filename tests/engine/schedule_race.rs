//! Several schedulers and one tick: the statements against each other, many workers, and one that stands still or knows old things.

use std::time::{Duration, Instant};

use outbox::{CatchUp, Overlap};
use outbox_testing::{Logs, eventually};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use crate::floor::{Floor, Worker};
use crate::schedule::{ages, assert_one_job_a_second, jobs, minutely, outbox, overdue};
use crate::sql::{filled, until_blocked};
use crate::support::Shop;

const DUE: &str = include_str!("../../outbox-postgres/src/step/schedule_due.sql");
const LOCK: &str = include_str!("../../outbox-postgres/src/step/schedule_lock.sql");
const TAKE: &str = include_str!("../../outbox-postgres/src/step/schedule_take.sql");

const NAME: &str = "night.pulse";

/// What a scheduler finds due.
async fn due(shop: &Shop, c: &mut PgConnection) -> PgRow {
    sqlx::query(filled(&shop.sandbox, DUE)).bind(vec![NAME]).bind(1).fetch_one(c).await.unwrap()
}

type Time = sqlx::types::chrono::DateTime<sqlx::types::chrono::Utc>;

/// Whether it gets the turn, with what it found that long ago.
async fn lock(shop: &Shop, c: &mut PgConnection, found: &PgRow, ago: Duration) -> bool {
    let lock = sqlx::query(filled(&shop.sandbox, LOCK)).bind(NAME).bind("every 1m").bind("UTC");
    let lock = lock.bind(found.get::<Time, _>(6)).bind(found.get::<Time, _>(7) - ago);
    lock.fetch_optional(c).await.unwrap().is_some()
}

/// Takes the tick that was found; answers whether it was free and how many jobs there are of it.
async fn take(shop: &Shop, c: &mut PgConnection, found: &PgRow) -> (bool, i64) {
    let tick = found.get::<Time, _>(6);
    let next = tick + Duration::from_mins(1_000_000);
    let id = outbox_core::tick::job_id(found.get(5), tick).as_uuid();
    let take = sqlx::query(filled(&shop.sandbox, TAKE)).bind(NAME).bind(next).bind(vec![tick]).bind(vec![id]);
    let row = take.bind(vec!["{}"]).bind(1).bind(false).fetch_one(c).await.unwrap();
    (row.get(0), row.get(1))
}

async fn one_due(overlap: Overlap) -> Shop {
    let shop = Shop::new().await;
    outbox(&shop, [minutely(NAME, CatchUp::Latest, overlap)]).build().await.unwrap();
    overdue(&shop, NAME, "0 minutes").await;
    shop
}

/// Q16, O31, S0-36: of two schedulers that find the same tick due, the second neither waits nor takes it, before the first has committed or
/// behind it; and it meets no error.
#[tokio::test]
async fn of_two_schedulers_one_takes_the_tick() {
    let shop = one_due(Overlap::Allow).await;
    let pool = shop.sandbox.pool();
    let (mut first, mut second) = (pool.begin().await.unwrap(), pool.begin().await.unwrap());
    let found = (due(&shop, &mut first).await, due(&shop, &mut second).await);
    assert!(lock(&shop, &mut first, &found.0, Duration::ZERO).await);
    let asked = Instant::now();
    assert!(!lock(&shop, &mut second, &found.1, Duration::ZERO).await, "passed by, not waited for");
    assert!(asked.elapsed() < Duration::from_millis(400), "{:?}", asked.elapsed());
    assert_eq!(take(&shop, &mut first, &found.0).await, (true, 1));
    assert!(!lock(&shop, &mut second, &found.1, Duration::ZERO).await);
    first.commit().await.unwrap();
    assert!(!lock(&shop, &mut second, &found.1, Duration::ZERO).await, "behind its commit, the tick is another's");
    second.commit().await.unwrap();
    assert_eq!(jobs(&shop, NAME).await, 1);
}

/// One that rolls back, or dies, leaves the tick to the next.
#[tokio::test]
async fn what_is_rolled_back_is_taken_by_the_next() {
    let shop = one_due(Overlap::Allow).await;
    let pool = shop.sandbox.pool();
    let (mut first, mut second) = (pool.begin().await.unwrap(), pool.begin().await.unwrap());
    let found = due(&shop, &mut first).await;
    assert!(lock(&shop, &mut first, &found, Duration::ZERO).await);
    assert_eq!(take(&shop, &mut first, &found).await, (true, 1));
    first.rollback().await.unwrap();
    assert!(lock(&shop, &mut second, &found, Duration::ZERO).await);
    assert_eq!(take(&shop, &mut second, &found).await, (true, 1));
    second.commit().await.unwrap();
    assert_eq!(jobs(&shop, NAME).await, 1);
}

/// A scheduler that knows old things takes nothing: what it found more than ten seconds ago, a tick that has been taken, a line that is no
/// longer there, a schedule that is paused.
#[tokio::test]
async fn a_scheduler_that_knows_old_things_takes_nothing() {
    let shop = one_due(Overlap::Allow).await;
    let mut c = shop.sandbox.pool().acquire().await.unwrap();
    let found = due(&shop, &mut c).await;
    assert!(lock(&shop, &mut c, &found, Duration::from_secs(5)).await);
    assert!(!lock(&shop, &mut c, &found, Duration::from_secs(11)).await, "it decides anew");
    for (change, back) in [
        ("paused_at = now()", "paused_at = null"),
        ("cadence = '0 3 * * *'", "cadence = 'every 1m'"),
        ("zone = 'Europe/Paris'", "zone = 'UTC'"),
        ("next_tick = next_tick + interval '1 minute'", "next_tick = next_tick - interval '1 minute'"),
    ] {
        shop.sandbox.execute(&format!("update :schema.schedule set {change}")).await;
        assert!(!lock(&shop, &mut c, &found, Duration::ZERO).await, "{change}");
        shop.sandbox.execute(&format!("update :schema.schedule set {back}")).await;
        assert!(lock(&shop, &mut c, &found, Duration::ZERO).await, "{back}");
    }
}

/// B23: a run by hand that commits in the very moment in which a tick is due is seen by whoever takes the tick behind it: they do not run
/// side by side.
#[tokio::test]
async fn a_run_by_hand_and_a_tick_do_not_meet() {
    let shop = one_due(Overlap::Skip).await;
    let pool = shop.sandbox.pool();
    let mut first = pool.begin().await.unwrap();
    let found = due(&shop, &mut first).await;
    // The run by hand has the row, and has not committed.
    let mut hand = pool.begin().await.unwrap();
    let run = |schema: &str| sqlx::AssertSqlSafe(format!("select \"{schema}\".run_schedule('{NAME}')"));
    let answer: String = sqlx::query_scalar(run(shop.sandbox.schema())).fetch_one(&mut *hand).await.unwrap();
    assert_eq!(answer, "run");
    assert!(!lock(&shop, &mut first, &found, Duration::ZERO).await);
    hand.commit().await.unwrap();
    assert!(lock(&shop, &mut first, &found, Duration::ZERO).await);
    assert_eq!(take(&shop, &mut first, &found).await, (false, 0), "its run has not ended");
    // And the other way round: it waits for the tick, and then sees it.
    let mut second = pool.acquire().await.unwrap();
    let pid = crate::sql::pid(&mut second).await;
    let schema = shop.sandbox.schema().to_owned();
    let waiting = tokio::spawn(async move {
        let answer: String = sqlx::query_scalar(run(&schema)).fetch_one(&mut *second).await.unwrap();
        answer
    });
    until_blocked(pool, pid).await;
    first.commit().await.unwrap();
    assert_eq!(waiting.await.unwrap(), "busy");
    assert_eq!(jobs(&shop, NAME).await, 1);
}

/// Q16, B17, O31: five workers with one name on one schedule that comes round each second, behind a backlog of a hundred ticks: each tick
/// has one job, none is left out, and nobody says that anything went wrong but that ticks were missed.
#[tokio::test]
async fn five_schedulers_take_each_tick_once() {
    let floor = Floor::new().await;
    let logs = Logs::warnings();
    let mut workers = Vec::new();
    for _ in 0..5 {
        workers.push(floor.outbox(&["night.pulse"]).name("same").build().await.unwrap());
    }
    floor
        .sandbox
        .execute("update :schema.schedule set next_tick = date_trunc('second', now()) - interval '90 s'")
        .await;
    let workers: Vec<_> = workers.into_iter().map(Worker::start).collect();
    floor.until_number("select (count(*) >= 95)::int::bigint from :schema.done", 1).await;
    for worker in workers {
        worker.stop().await;
    }
    assert_one_job_a_second(&floor).await;
    let effects = "select count(*) - count(distinct label) from :schema.done";
    assert_eq!(floor.sandbox.number(effects).await, 0);
    // What a small pool and a busy server have said is no schedule's matter.
    let others = ["pool is smaller", "claims pass over many dead rows", "claims begin at the head again"];
    let said = logs.lines().into_iter().filter(|line| !others.iter().any(|other| line.contains(other)));
    let said: Vec<_> = said.collect();
    assert_eq!(said, [""; 0]);
}

/// O31, Q17: a worker that is started anew again and again, for less time than lies between two ticks, takes the tick when it is due all the
/// same; each once.
#[tokio::test]
async fn restarts_more_often_than_ticks_lose_none() {
    let shop = Shop::new().await;
    let all = || [minutely(NAME, CatchUp::Latest, Overlap::Allow)];
    outbox(&shop, all()).build().await.unwrap();
    let due = "update :schema.schedule set next_tick = date_trunc('minute', now()) + interval '1 minute'";
    shop.sandbox.execute(due).await;
    for restart in 0..6 {
        let worker = Worker::start(outbox(&shop, all()).build().await.unwrap());
        eventually("it has looked", async || worker.outbox.health().is_ready().then_some(())).await;
        if restart == 3 {
            // As if the minute had come.
            overdue(&shop, NAME, "0 minutes").await;
        }
        worker.stop().await;
    }
    let worker = Worker::start(outbox(&shop, all()).build().await.unwrap());
    ages(&shop, NAME).await;
    assert!((1..=2).contains(&jobs(&shop, NAME).await), "one, and one more where a minute went by meanwhile");
    worker.stop().await;
}
