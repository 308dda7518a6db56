//! A worker runs the whole engine, and removes no history.

use outbox::Envelope;
use outbox::ingest::{Arrival, QuarantineClass, Redriven, Taken, Unfit};
use outbox_testing::{Logs, eventually};
use sqlx::Executor;
use sqlx::types::Uuid;

use crate::floor::{Asked, Do, Letter, Worker, ask, fail};
use crate::linkage::only_events;

use super::granted::{FOR_THE_OWNER, Granted};

/// A worker takes events from a broker, such as are days old too, keeps what is none, redrives it and discards it.
#[tokio::test]
async fn a_worker_ingests_and_redrives() {
    let it = Granted::new().await;
    let outbox = it.floor.outbox_on(it.member("worker").await, &["desk.note"]).build().await.unwrap();
    let event = |id: &str| Envelope {
        id: id.parse().unwrap(),
        name: "work.asked".to_owned(),
        version: 1,
        occurred_at: std::time::SystemTime::UNIX_EPOCH.into(),
        subject: outbox::Subject::default(),
        metadata: outbox::Metadata::new(),
        payload: outbox::Payload::from_json(r#"{"label":"a","plan":[]}"#),
    };
    let unfit = Unfit {
        class: QuarantineClass::Undecodable,
        reason: "it is odd".to_owned(),
        event_id: None,
        event_type: None,
        event_version: None,
    };
    let arrival = |digest, read| Arrival { digest: [digest; 32], headers: "{}", body: b"{}", read };
    let odd =
        [arrival(1, Ok(event("01ARZ3NDEKTSV4RRFFQ69G5FAV"))), arrival(2, Err(unfit.clone())), arrival(3, Err(unfit))];
    let taken = outbox.ingestion("broker").store(&odd).await.unwrap();
    assert_eq!(taken[0], Taken::Stored { jobs: 1 });
    let kept: Vec<_> =
        taken.iter().filter_map(|one| if let Taken::Quarantined { id, .. } = one { Some(*id) } else { None }).collect();
    assert_eq!(kept.len(), 2);
    let other = event("01ARZ3NDEKTSV4RRFFQ69G5FAW");
    let redriven = outbox.redrive_quarantined(&kept[..1], false, &|_, _| Ok(other.clone())).await.unwrap();
    assert_eq!(redriven, [Redriven::Stored { event_id: other.id, jobs: 1 }]);
    assert_eq!(outbox.discard_quarantined(&kept).await.unwrap(), kept[1..]);
}

/// A worker declares, claims, runs handlers of each kind, settles, retries, publishes follow-ups, takes over from the dead,
/// backfills and makes partitions, and meets no refusal.
#[tokio::test]
async fn a_worker_runs_the_whole_engine() {
    let it = Granted::new().await;
    let floor = &it.floor;
    floor.sandbox.execute(&format!("grant select, insert on :schema.done to {}_worker", it.logins.prefix)).await;
    let early = floor.sandbox.outbox().registry(only_events()).build().await.unwrap();
    let mut tx_before = early.begin().await.unwrap();
    let asked = Asked { label: "early".into(), plan: Vec::new() };
    let backfilled = early.publish(&mut tx_before, &asked).await.unwrap().event_id;
    let logs = Logs::warnings();
    let pool = it.member("worker").await;
    let handlers = ["desk.note", "desk.once", "till.book", "shelf.follow", "desk.letter", "night.scan"];
    let worker = Worker::start(floor.outbox_on(pool.clone(), &handlers).build().await.unwrap());
    let outbox = worker.outbox.clone();
    let retried = ask(&outbox, "retried", [fail("first")]).await;
    let published = ask(&outbox, "published", [Do::Publish("follow".into())]).await;
    let mut tx = outbox.begin().await.unwrap();
    outbox.enqueue(&mut tx, &Letter { label: "l1".into() }).await.unwrap();
    tx.commit().await.unwrap();
    // Its publisher did not know the subscribers, so its jobs are the backfill's to make, one a subscriber of that event.
    tx_before.commit().await.unwrap();
    let made = format!("select count(*) from :schema.job where event_id = '{}'", backfilled.as_uuid());
    floor.until_number(&made, 3).await;
    for event in [retried, backfilled, published] {
        floor.until("till.book", event, "succeeded").await;
    }
    floor.until("desk.once", retried, "failed").await;
    eventually("the follow-up and the letter are done", async || {
        let jobs = floor.sandbox.jobs().await;
        (jobs.of("shelf.follow").succeeded() == 1 && jobs.of("desk.letter").succeeded() == 1).then_some(())
    })
    .await;
    // A tick that is due is taken, and one is run by hand.
    floor.sandbox.execute("update :schema.schedule set next_tick = now() - interval '1 minute'").await;
    floor.until_number("select count(*) from :schema.schedule where next_tick > now()", 1).await;
    outbox.schedules().pause("night.scan").await.unwrap();
    outbox.schedules().resume("night.scan").await.unwrap();
    eventually("the schedule has run by hand too", async || {
        let _ = outbox.schedules().run_now("night.scan").await;
        (floor.sandbox.jobs().await.of("night.scan").succeeded() >= 2).then_some(())
    })
    .await;
    // A worker that died with a job in hand, and one whose row somebody deleted.
    let dead = Uuid::new_v4();
    let held = format!(
        "insert into :schema.worker (id, name, ranges, expires_at) values ('{dead}', 'dead', '{{}}', now() - interval '1 s');
         insert into :schema.job_live (id, event_id, job_type, attempts, max_attempts, status, claim_id, locked_by, locked_at)
         values (gen_random_uuid(), '{}', 'desk.copy', 1, 3, 'running', gen_random_uuid(), '{dead}', now())",
        backfilled.as_uuid()
    );
    floor.sandbox.execute(&held).await;
    floor.until("desk.copy", backfilled, "pending").await;
    worker.stop().await;
    let refused: Vec<_> = logs
        .lines()
        .into_iter()
        .filter(|line| line.contains("permission") || line.contains("did not answer"))
        .collect();
    assert_eq!(refused, [""; 0]);
}

/// A worker makes partitions for the days to come, and what lands in them is published and read by the roles through the parent.
#[tokio::test]
async fn new_partitions_need_no_grant() {
    let it = Granted::new().await;
    let (publisher, worker, reader) =
        (it.member("publisher").await, it.member("worker").await, it.member("reader").await);
    let text = it.floor.fill("select :schema.ensure_partitions('60 days')");
    let made: i32 = sqlx::query_scalar(text).fetch_one(&worker).await.unwrap();
    assert!(made > 40, "{made}");
    let insert = "insert into :schema.event (id, event_type, event_version, subject_type, payload)
                  values (:schema.ulid_floor(now() + interval '50 days'), 'a.b', 1, 'a', '{}')";
    publisher.execute(it.floor.fill(insert)).await.unwrap();
    let home = "select tableoid::regclass::text from :schema.event";
    let partition: String = sqlx::query_scalar(it.floor.fill(home)).fetch_one(it.floor.sandbox.pool()).await.unwrap();
    assert!(!partition.ends_with("event_default"), "{partition}");
    it.assert_allowed(&worker, &["select payload from :schema.event"]).await;
    it.assert_allowed(&reader, &["select id from :schema.event"]).await;
    for pool in [&publisher, &worker, &reader] {
        it.assert_denied(
            pool,
            &[&format!("select from {partition}"), &format!("insert into {partition} (id) values (null)")],
        )
        .await;
    }
}

/// A worker alters no table, removes no history, and does no operator's work.
#[tokio::test]
async fn a_worker_neither_alters_tables_nor_removes_history() {
    let it = Granted::new().await;
    let pool = it.member("worker").await;
    it.assert_denied(&pool, &FOR_THE_OWNER).await;
    it.assert_denied(
        &pool,
        &[
            "update :schema.job_succeeded set attempts = 0",
            "update :schema.job_failed set attempts = 0",
            "update :schema.attempt set error = ''",
            "update :schema.inbox set handler = ''",
            "delete from :schema.inbox",
            "delete from :schema.publish_key",
            "delete from :schema.migration",
            "insert into :schema.migration (version, name) values (99, 'x')",
            "update :schema.subscription set retired_at = now()",
            "update :schema.subscription set handler = 'a.b'",
            "select payload from :schema.job_failed",
            "select metadata from :schema.job_succeeded",
            "select reason from :schema.erasure",
            "select :schema.redrive(gen_random_uuid())",
            "select :schema.cancel(gen_random_uuid(), 'why')",
        ],
    )
    .await;
}

/// A worker removes what has ended and is old enough, by itself, and can ask for no less than the least ages; nobody else removes
/// anything.
#[tokio::test]
async fn a_worker_prunes_what_is_old_enough() {
    let it = Granted::new().await;
    let old = "insert into :schema.job_failed (id, event_id, job_type, max_attempts, attempts, status, completed_at)
               values (gen_random_uuid(), gen_random_uuid(), 'a.b', 1, 1, 'failed', now() - interval '2 years');
               insert into :schema.inbox (handler, key, created_at) values ('a.b', gen_random_uuid(), now() - interval '2 years')";
    it.floor.sandbox.execute(old).await;
    let pool = it.member("worker").await;
    let logs = Logs::warnings();
    let worker = Worker::start(it.floor.outbox_on(pool.clone(), &["desk.once"]).build().await.unwrap());
    it.floor
        .until_number("select (select count(*) from :schema.job_failed) + (select count(*) from :schema.inbox)", 0)
        .await;
    worker.stop().await;
    assert_eq!(logs.lines(), [""; 0]);
    let chores = ["succeeded", "events", "failed", "attempts", "inbox", "publish_keys"];
    for chore in chores {
        let too_soon = it.answer(&pool, &format!("select :schema.prune_{chore}('1 hour')")).await;
        assert_eq!(too_soon.as_deref(), Some("22023"), "{chore}");
    }
    for role in ["publisher", "reader", "admin"] {
        let pool = it.member(role).await;
        for chore in chores {
            it.assert_denied(&pool, &[&format!("select :schema.prune_{chore}('9 years')")]).await;
        }
    }
}

/// Before PostgreSQL 17 only the owner may vacuum: a worker of another role says once that it leaves that to autovacuum. From then on it
/// may by its grant, and does.
#[tokio::test]
async fn a_worker_vacuums_where_it_may() {
    let it = Granted::new().await;
    let sandbox = &it.floor.sandbox;
    sandbox.execute("alter table :schema.job_live set (autovacuum_enabled = off)").await;
    let fill = "insert into :schema.job_live (id, event_id, job_type, max_attempts)
                select gen_random_uuid(), gen_random_uuid(), 'a.b', 1 from generate_series(1, 60000)";
    sandbox.execute(fill).await;
    sandbox.execute("delete from :schema.job_live").await;
    let table = sandbox.table("job_live");
    let dead = format!("select (pg_stat_get_dead_tuples('{table}'::regclass) >= 60000)::int::bigint");
    it.floor.until_number(&dead, 1).await;
    let logs = Logs::everything();
    let worker = Worker::start(it.floor.outbox_on(it.member("worker").await, &["desk.once"]).build().await.unwrap());
    ask(&worker.outbox, "a", []).await;
    let version = "select current_setting('server_version_num')::bigint";
    let said = || logs.lines().into_iter().filter(|line| line.contains("left to autovacuum")).count();
    if sandbox.number(version).await >= 170_000 {
        let vacuums = format!("select pg_stat_get_vacuum_count('{table}'::regclass)");
        it.floor.until_number(&vacuums, 1).await;
    } else {
        eventually("it says so", async || (said() == 1).then_some(())).await;
        assert!(!logs.lines().iter().any(|line| line.contains("permission denied")), "and the server does not");
    }
    worker.stop().await;
}
