//! Migrations while others work, and today's binary on tomorrow's tables: a migration that does not exist yet, applied by the code
//! that applies the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use outbox::{MigrateError, Outbox};
use outbox_postgres::Migrator;
use outbox_testing::Logs;
use outbox_testing::fault::{Process, Proxy, Session};
use tokio::task::JoinSet;

use crate::floor::{Asked, Do, Floor, Worker, ask};
use crate::migrate::{content, history};
use crate::process::command;

const FILES: [(&str, &str); 4] = [
    ("weight", include_str!("tomorrow/weight.sql")),
    ("zone", include_str!("tomorrow/zone.sql")),
    ("region", include_str!("tomorrow/region.sql")),
    ("owner", include_str!("tomorrow/owner.sql")),
];

fn today() -> i32 {
    Migrator::ours().newest()
}

/// Today's migrations and tomorrow's, which say that today's binary works on them.
fn tomorrows() -> Migrator {
    FILES.iter().fold(Migrator::ours(), |migrator, (name, text)| {
        let (version, from) = (migrator.newest() + 1, today());
        let name = format!("{version:04}_{name}");
        let text = format!(
            "{text}\ninsert into migration (version, name, compatible_from) values ({version}, '{name}', {from});\n"
        );
        migrator.and(name.leak(), text.leak())
    })
}

async fn version(floor: &Floor) -> i32 {
    let version = floor.sandbox.number("select max(version)::bigint from :schema.migration").await;
    i32::try_from(version).unwrap()
}

/// One transaction after another until it is told to stop, and then a few more; answers how many.
async fn publish_until(outbox: Outbox, who: usize, stop: Arc<AtomicBool>) -> usize {
    let (mut published, mut left) = (0, 5);
    while left > 0 {
        if stop.load(Ordering::SeqCst) {
            left -= 1;
        }
        let mut tx = outbox.begin().await.unwrap();
        let asked = Asked { label: format!("p{who}.{published}"), plan: Vec::new() };
        outbox.publish(&mut tx, &asked).await.unwrap_or_else(|error| panic!("{who}.{published}: {error:?}"));
        tx.commit().await.unwrap();
        published += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    published
}

/// Sixteen workers, two of them processes of their own, and thirty-four publishers go on while the tables are migrated from today's
/// version to tomorrow's: no publish fails, no execution fails or is repeated, no error is logged, every effect is there once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_and_publishers_go_on_while_the_tables_are_migrated() {
    let floor = Floor::new().await;
    let handlers = ["till.book", "desk.note"];
    let mut workers = Vec::new();
    for _ in 0..14 {
        workers.push(Worker::start(floor.outbox(&handlers).poll_only().build().await.unwrap()));
    }
    let processes = [
        Process::spawn(&mut command(&floor, &handlers).await).unwrap(),
        Process::spawn(&mut command(&floor, &handlers).await).unwrap(),
    ];
    let stop = Arc::new(AtomicBool::new(false));
    let mut publishers = JoinSet::new();
    for publisher in 0..34 {
        let outbox = floor.outbox(&handlers).poll_only().build().await.unwrap();
        publishers.spawn(publish_until(outbox, publisher, Arc::clone(&stop)));
    }
    floor.until_number("select (count(*) >= 200)::int::bigint from :schema.done", 1).await;
    assert_eq!(version(&floor).await, today());
    tomorrows().run(floor.sandbox.pool(), floor.sandbox.schema()).await.unwrap();
    assert_eq!(version(&floor).await, tomorrows().newest());
    stop.store(true, Ordering::SeqCst);
    let published: usize = publishers.join_all().await.into_iter().sum();
    let jobs = floor.until_settled().await;
    assert_eq!((jobs.len(), jobs.succeeded()), (2 * published, 2 * published));
    assert!(jobs.0.iter().all(|job| job.attempts == 1 && job.crashes == 0), "an execution was repeated");
    let effects = "select count(*) from :schema.done";
    assert_eq!(floor.sandbox.number(effects).await, i64::try_from(published).unwrap());
    let effects = "select count(distinct label) from :schema.done";
    assert_eq!(floor.sandbox.number(effects).await, i64::try_from(published).unwrap());
    for process in &processes {
        process.terminate().unwrap();
        assert!(process.ended().await.success());
    }
    for worker in workers {
        worker.stop().await;
    }
}

/// Q28: today's binary works on tomorrow's tables, whose migration says that it may: it starts, publishes, claims, retries, settles,
/// takes over the jobs of a killed process, redrives, and leaves the tables alone.
#[tokio::test]
async fn todays_binary_works_on_tomorrows_tables() {
    let floor = Floor::new().await;
    tomorrows().run(floor.sandbox.pool(), floor.sandbox.schema()).await.unwrap();
    let (pool, schema) = (floor.sandbox.pool(), floor.sandbox.schema());
    let stood = (content(pool, schema).await, history(pool, schema).await);
    outbox::migrate_schema(pool, schema).await.unwrap();
    let handlers = ["desk.note", "till.book"];
    let outbox = floor.outbox(&handlers).build().await.unwrap();
    let killed = ask(&outbox, "killed", [Do::Hang]).await;
    let process = Process::spawn(&mut command(&floor, &handlers).await).unwrap();
    process.until("began till.book killed").await;
    process.until("began desk.note killed").await;
    process.kill().unwrap();
    let worker = floor.worker(&handlers).await;
    let retried = ask(&worker.outbox, "retried", [Do::Fail("once".into())]).await;
    let failed = ask(&worker.outbox, "failed", vec![Do::Fail("always".into()); 3]).await;
    floor.until_settled().await;
    for (event, status, attempts) in [(killed, "succeeded", 2), (retried, "succeeded", 2), (failed, "failed", 3)] {
        for handler in handlers {
            let job = floor.job(handler, event).await;
            assert_eq!((job.status.as_str(), job.attempts), (status, attempts), "{handler}");
        }
    }
    let job = floor.job("till.book", failed).await;
    assert!(worker.outbox.redrive(job.id).await.is_ok());
    floor.until("till.book", failed, "succeeded").await;
    let effects = [floor.effects("killed").await, floor.effects("retried").await, floor.effects("failed").await];
    assert_eq!(effects, [1, 1, 1]);
    worker.stop().await;
    assert_eq!((content(pool, schema).await, history(pool, schema).await), stood);
}

/// A table that a long transaction has read is not waited for in the queue of its lock, where everybody else would stand behind the
/// migration: it is tried, and tried again, while publishers and workers go on, and goes through when the transaction has ended.
#[tokio::test]
async fn a_migration_behind_a_long_transaction_holds_up_nobody() {
    let floor = Floor::new().await;
    let proxy = Proxy::start(&outbox_testing::Sandbox::url().await).unwrap();
    let worker = floor.worker(&["till.book"]).await;
    let url = outbox_testing::Sandbox::url().await;
    let long = Session::lock_table(&url, &floor.sandbox.table("job"), "access share").await.unwrap();
    let pool = sqlx::PgPool::connect(&proxy.url()).await.unwrap();
    let schema = floor.sandbox.schema().to_owned();
    let migration = tokio::spawn(async move { tomorrows().run(&pool, &schema).await });
    let mut longest = Duration::ZERO;
    let mut published = 0;
    while proxy.of("outbox migrate").count("begin") < 4 {
        let begun = Instant::now();
        let label = format!("n{published}");
        let asked = tokio::time::timeout(Duration::from_secs(5), ask(&worker.outbox, &label, []));
        asked.await.expect("a publish does not stand behind the migration");
        longest = longest.max(begun.elapsed());
        published += 1;
    }
    assert!(!migration.is_finished());
    assert!(longest < Duration::from_secs(2), "a publish waited for {longest:?}");
    floor.until_settled().await;
    assert_eq!(floor.sandbox.number("select count(*) from :schema.done").await, published);
    long.rollback().await.unwrap();
    migration.await.unwrap().unwrap();
    assert_eq!(version(&floor).await, tomorrows().newest());
    worker.stop().await;
}

/// When the transaction does not end, the migration says so behind its patience, and nothing was changed.
#[tokio::test]
async fn a_migration_gives_up_behind_its_patience() {
    let floor = Floor::new().await;
    let (pool, schema) = (floor.sandbox.pool(), floor.sandbox.schema());
    let before = content(pool, schema).await;
    let url = outbox_testing::Sandbox::url().await;
    let _long = Session::lock_table(&url, &floor.sandbox.table("job"), "access share").await.unwrap();
    let error = tomorrows().patience(Duration::from_millis(1_500)).run(pool, schema).await.unwrap_err();
    assert!(matches!(error, MigrateError::Held { tries: 2.., .. }), "{error:?}");
    let text = format!("somebody holds a lock in the schema `{schema}` that a migration needs, at each of");
    assert!(error.to_string().starts_with(&text), "{error}");
    assert_eq!((content(pool, schema).await, version(&floor).await), (before, today()));
}

/// What waits is said once a try, and not as a warning: a long transaction is no fault of the migration.
#[tokio::test]
async fn a_migration_that_waits_warns_nobody() {
    let floor = Floor::new().await;
    let logs = Logs::warnings();
    let url = outbox_testing::Sandbox::url().await;
    let _long = Session::lock_table(&url, &floor.sandbox.table("worker"), "access share").await.unwrap();
    let migrator = tomorrows().patience(Duration::from_secs(1));
    migrator.run(floor.sandbox.pool(), floor.sandbox.schema()).await.unwrap_err();
    assert_eq!(logs.lines(), [""; 0]);
}
