//! What claims do while somebody's old snapshot keeps the rows of finished jobs at the head of their index.

use std::time::Duration;

use outbox_core::transition::Next;
use outbox_testing::fault::{Proxy, Session};
use outbox_testing::{Sandbox, eventually};
use sqlx::ConnectOptions as _;
use sqlx::postgres::PgPoolOptions;
use sqlx::types::Uuid;

use crate::conformance::{register, settle_batch};
use crate::floor::{Do, Floor, Letter, Stage, Worker, ask, fail};
use crate::proxy;

/// How many dead rows stand at the head: a claim from there passes over every one of them, and then takes tens of milliseconds.
const DEAD: i64 = 200_000;
const HANDLERS: [&str; 2] = ["desk.note", "desk.letter"];

/// In a database of its own, because a snapshot keeps the dead rows of all tables of one.
async fn floor() -> (Floor, Proxy) {
    let sandbox = Sandbox::database().await;
    let stage = Stage::new(sandbox.table("done"), false);
    (Floor { sandbox, stage }, proxy::start().await)
}

/// Dead rows of `desk.note`, kept by the snapshot that comes back.
async fn keep_dead_rows(floor: &Floor) -> Session {
    floor
        .sandbox
        .execute(&format!(
            "insert into :schema.job_live (id, event_id, job_type, max_attempts, available_at)
             select id, id, 'desk.note', 3, now() - interval '1 hour' + n * interval '1 ms'
             from (select n, lpad(to_hex(n), 32, '0')::uuid as id from generate_series(1, {DEAD}) n) g"
        ))
        .await;
    let snapshot = Session::snapshot(floor.sandbox.pool().connect_options().to_url_lossy().as_str()).await.unwrap();
    floor.sandbox.execute("delete from :schema.job_live").await;
    snapshot
}

/// How many claims there were until now, and how many entries of the claim's index were read at least by all of them, looks and claims,
/// as the server has counted it. It counts a little late: until it has counted the four scans of each claim of a range.
async fn read(floor: &Floor, proxy: &Proxy) -> (i64, i64) {
    let of = |what: &str| {
        format!(
            "select coalesce(sum({what}), 0)::bigint from pg_stat_all_indexes where indexrelid = '{}'::regclass",
            floor.sandbox.table("job_live_claim")
        )
    };
    let claims = i64::try_from(proxy.all().count("claim")).unwrap();
    let scans = claims * 4 * i64::try_from(HANDLERS.len()).unwrap();
    eventually("the scans are counted", async || (floor.sandbox.number(&of("idx_scan")).await >= scans).then_some(()))
        .await;
    (claims, floor.sandbox.number(&of("idx_tup_read")).await)
}

/// A worker whose claims begin at floors by now.
async fn worker_behind_dead_rows(floor: &Floor, proxy: &Proxy) -> Worker {
    let options = proxy.options().database(floor.sandbox.pool().connect_options().get_database().unwrap());
    let pool = PgPoolOptions::new().max_connections(4).connect_lazy_with(options);
    let worker = Worker::start(floor.outbox_on(pool, &HANDLERS).build().await.unwrap());
    looks(proxy, 1).await;
    worker
}

/// Waits until so many more looks have begun, and the last but one of them has ended.
async fn looks(proxy: &Proxy, more: u64) {
    let wanted = proxy.all().count("look") + more;
    eventually("somebody has looked", async || (proxy.all().count("look") >= wanted).then_some(())).await;
}

/// An idle worker, and one that is at work, pass over the dead rows once a look, and not at each claim.
#[tokio::test]
async fn claims_pass_over_dead_rows_once_a_look() {
    let (floor, proxy) = floor().await;
    let snapshot = keep_dead_rows(&floor).await;
    let worker = worker_behind_dead_rows(&floor, &proxy).await;
    // Whatever claimed before the floors stood.
    looks(&proxy, 1).await;
    let (first, before) = read(&floor, &proxy).await;
    let passed = || {
        // What is surveyed and measured now and then steps from name to name, and passes over them in some of its steps.
        let times = [("look", 1), ("survey_jobs", 3), ("depth", 3)];
        times.map(|(statement, times)| times * i64::try_from(proxy.all().count(statement)).unwrap()).iter().sum::<i64>()
    };
    let passed_before = passed();
    for n in 0..20 {
        ask(&worker.outbox, &n.to_string(), []).await;
        // Not asked of the table, whose every reader would pass over the dead rows.
        floor.until_begun("desk.note", &n.to_string(), 1).await;
    }
    let hundred = async || (proxy.all().count("claim") >= u64::try_from(first).unwrap() + 100).then_some(());
    eventually("it has claimed a hundred times, idle for most of them", hundred).await;
    let (last, after) = read(&floor, &proxy).await;
    // One that had begun before, and one whose scans are counted in advance.
    let seen = passed() - passed_before + 2;
    let (claims, read) = (last - first, after - before);
    assert!(
        read <= seen * (DEAD + 1_000) + claims * 1_000,
        "{read} entries in {claims} claims and {seen} passes, of {DEAD} dead rows"
    );
    drop(snapshot);
    worker.stop().await;
}

/// Whatever appears below the floor is found by the next look: a transaction that committed late, a job that its worker gave back with
/// the time that it had, of every priority, as old as can be. What is retried, snoozed, redriven, rescued or delayed is due later than
/// that anyway.
#[tokio::test]
async fn what_appears_below_the_floor_is_found() {
    let (floor, proxy) = floor().await;
    let _snapshot = keep_dead_rows(&floor).await;
    let worker = worker_behind_dead_rows(&floor, &proxy).await;

    let mut late = worker.outbox.begin().await.unwrap();
    let asked = crate::floor::Asked { label: "late".into(), plan: vec![] };
    worker.outbox.publish(&mut late, &asked).await.unwrap();
    let mut connection = floor.sandbox.pool().acquire().await.unwrap();
    let (holder, claim) = (register(&floor, &mut connection, "1 hour").await, Uuid::new_v4());
    let held: Uuid = sqlx::query_scalar(floor.fill(
        "insert into :schema.job_live (id, job_type, payload, max_attempts, attempts, status, claim_id, locked_by, locked_at, available_at)
         values (gen_random_uuid(), 'desk.letter', '{\"label\": \"returned\"}', 3, 1, 'running', $1, $2, now(), now() - interval '1 hour')
         returning id",
    ))
    .bind(claim)
    .bind(holder)
    .fetch_one(&mut *connection)
    .await
    .unwrap();
    let dead =
        "insert into :schema.worker (id, name, ranges, expires_at) values (gen_random_uuid(), 'dead', '{}', now())";
    floor.sandbox.execute(dead).await;
    let rescued = "insert into :schema.job_live (id, job_type, payload, max_attempts, attempts, status, claim_id, locked_by, locked_at)
                   select gen_random_uuid(), 'desk.letter', '{\"label\": \"rescued\"}', 3, 1, 'running', gen_random_uuid(), id, now()
                   from :schema.worker where name = 'dead'";
    floor.sandbox.execute(rescued).await;

    // Until the margin is well behind.
    looks(&proxy, 4).await;
    late.commit().await.unwrap();
    assert_eq!(settle_batch(&floor, &mut connection, &[(held, claim, Next::Return)]).await.unwrap(), 1);
    for (priority, since) in [(0, "1 day"), (1, "1 hour"), (2, "10 seconds"), (3, "300 years")] {
        let old = format!(
            "insert into :schema.job_live (id, job_type, payload, max_attempts, priority, available_at)
             values (gen_random_uuid(), 'desk.letter', '{{\"label\": \"old {priority}\"}}', 3, {priority}, now() - interval '{since}')"
        );
        floor.sandbox.execute(&old).await;
    }
    let oldest = "insert into :schema.job_live (id, job_type, payload, max_attempts, available_at)
                  values (gen_random_uuid(), 'desk.letter', '{\"label\": \"oldest\"}', 3, '-infinity')";
    floor.sandbox.execute(oldest).await;
    let retried = ask(&worker.outbox, "retried", [fail("once"), Do::Snooze(100)]).await;
    let mut tx = worker.outbox.begin().await.unwrap();
    let letter = Letter { label: "delayed".into() };
    worker.outbox.enqueue(&mut tx, &letter).delay(Duration::from_millis(300)).await.unwrap();
    tx.commit().await.unwrap();
    let failed = ask(&worker.outbox, "redriven", [Do::Quarantine]).await;
    let failed = floor.until("desk.note", failed, "failed").await;
    worker.outbox.redrive(failed.id).await.unwrap();

    floor.until_settled().await;
    floor.until("desk.note", retried, "succeeded").await;
    assert!(floor.sandbox.jobs().await.0.iter().all(|job| job.status == "succeeded"));
    assert!(proxy.of("outbox look").open() == 1, "claims still begin at floors");
    worker.stop().await;
}

/// When the snapshot has ended and the dead rows are gone, claims begin at the head as before, and nobody looks any more.
#[tokio::test]
async fn floors_end_with_the_dead_rows() {
    let (floor, proxy) = floor().await;
    let snapshot = keep_dead_rows(&floor).await;
    let worker = worker_behind_dead_rows(&floor, &proxy).await;
    assert_eq!(proxy.of("outbox look").open(), 1);
    drop(snapshot);
    eventually("nobody looks any more", async || {
        floor.sandbox.execute("vacuum (truncate false) :schema.job_live").await;
        (proxy.of("outbox look").open() == 0).then_some(())
    })
    .await;
    let event = ask(&worker.outbox, "a", []).await;
    floor.until("desk.note", event, "succeeded").await;
    worker.stop().await;
}
