//! Migrators that are processes of their own, many at once, and killed at each statement.

use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use outbox_testing::fault::{Point, Process, ProcessHandle, Proxy, Then, Trap};
use outbox_testing::{DEADLINE, Sandbox, eventually};
use sqlx::PgPool;

use crate::database::Database;
use crate::migrate::{content, history};

const URL: &str = "OUTBOX_TEST_MIGRATOR_URL";
const SCHEMA: &str = "OUTBOX_TEST_MIGRATOR_SCHEMA";
const LANE: &str = "outbox migrate";

/// What a migrator process does; in the test run itself, nothing.
#[tokio::test]
async fn child() {
    let Ok(url) = std::env::var(URL) else { return };
    let pool = sqlx::postgres::PgPoolOptions::new().max_connections(1).connect_lazy(&url).unwrap();
    outbox::migrate_schema(&pool, &std::env::var(SCHEMA).unwrap()).await.unwrap();
}

fn start(url: &str, schema: &str) -> Process {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "migrator::child", "--nocapture", "--test-threads=1"]).env(URL, url).env(SCHEMA, schema);
    Process::spawn(command.stdin(Stdio::null()).stderr(Stdio::null())).unwrap()
}

/// Every point on the wire of a migration of an empty schema, in no order, but for the end of its transaction: by name of the
/// statement and which of that name it is.
async fn points() -> Vec<(String, u32)> {
    let sandbox = Sandbox::empty().await;
    let proxy = Proxy::start(&Sandbox::url().await).unwrap();
    let pool = PgPool::connect(&proxy.url()).await.unwrap();
    outbox::migrate_schema(&pool, sandbox.schema()).await.unwrap();
    let mut points = Vec::new();
    for (name, times) in proxy.of(LANE).statements() {
        points.extend((1..=u32::try_from(times).unwrap()).map(|nth| (name.clone(), nth)));
    }
    points
}

/// Whether the schema is there, and whether anybody holds the turn to migrate it.
async fn left(sandbox: &Sandbox) -> (bool, bool) {
    let text = "select exists (select from pg_namespace where nspname = $1), exists (select from pg_locks where locktype = 'advisory'
                and (classid::bigint << 32 | objid::bigint) = hashtextextended('outbox migrate ' || $1, 0))";
    sqlx::query_as(text).bind(sandbox.schema()).fetch_one(sandbox.pool()).await.unwrap()
}

/// B13: twenty processes migrate a fresh database at once: all succeed, and each migration is applied once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_processes_migrate_a_fresh_database_at_once() {
    let database = Database::new().await;
    let url = database.url();
    let processes: Vec<_> = (0..20).map(|_| start(&url, "system")).collect();
    for process in processes {
        let status = process.ended().await;
        assert!(status.success(), "{status}: {:#?}", process.lines());
    }
    let applied = history(&database.pool().await, "system").await;
    assert_eq!(i32::try_from(applied.len()), Ok(outbox_postgres::Migrator::ours().newest()), "{applied:?}");
}

/// B13: a migrator whose connection breaks before or behind any of its statements leaves nothing, neither a table nor a lock, unless
/// the break comes behind its commit; and the next one completes.
#[tokio::test]
async fn a_migrator_that_is_cut_at_any_statement_leaves_nothing() {
    let points = points().await;
    let in_files = points.iter().filter(|(name, _)| name == "create" || name == "update").count();
    assert!(in_files >= 8 && points.len() > 20, "the points are there: {points:?}");
    let whole = Sandbox::new().await;
    let whole = content(whole.pool(), whole.schema()).await;
    let proxy = Proxy::start(&Sandbox::url().await).unwrap();
    let pool = PgPool::connect(&proxy.url()).await.unwrap();
    let sandbox = Sandbox::empty().await;
    for (name, nth) in &points {
        for side in [Point::before, Point::after] {
            let point = side(name.as_str()).of(LANE).nth(*nth);
            let what = format!("{point:?}");
            let committed = name == "commit" && what.contains("After");
            let cut = proxy.cut_at(point);
            assert!(outbox::migrate_schema(&pool, sandbox.schema()).await.is_err(), "{what}");
            assert_eq!(cut.reached(), 1, "{what}");
            eventually(&what, async || (left(&sandbox).await == (committed, false)).then_some(())).await;
            drop(cut);
            if committed {
                assert_eq!(content(sandbox.pool(), sandbox.schema()).await, whole, "{what}");
                sandbox.execute(&format!("drop schema {} cascade", sandbox.schema())).await;
            }
        }
    }
    outbox::migrate_schema(&pool, sandbox.schema()).await.unwrap();
    assert_eq!(content(sandbox.pool(), sandbox.schema()).await, whole);
}

/// The process goes through the proxy, and what is set there is done to it.
fn through(proxy: &Proxy, schema: &str, point: Point, what: fn(&ProcessHandle) -> Then) -> (Trap, Process) {
    // The trap is set before there is a process that it could kill.
    let (give, take) = mpsc::channel::<ProcessHandle>();
    let trap = proxy.call_at(point.of(LANE), move || what(&take.recv_timeout(DEADLINE).unwrap()));
    let process = start(&proxy.url(), schema);
    give.send(process.handle()).unwrap();
    (trap, process)
}

/// B13: a migrator process that is killed between its statements leaves nothing half done; the next one completes.
#[tokio::test]
async fn a_killed_migrator_leaves_nothing() {
    let mut killed: Vec<_> =
        points().await.into_iter().step_by(5).map(|(name, nth)| (Point::before(name).nth(nth), false)).collect();
    assert!(killed.len() > 4, "{killed:?}");
    killed.extend([(Point::before("commit"), false), (Point::after("commit"), true)]);
    for (point, committed) in killed {
        let what = format!("{point:?}");
        let sandbox = Sandbox::empty().await;
        let proxy = Proxy::start(&Sandbox::url().await).unwrap();
        let (trap, process) = through(&proxy, sandbox.schema(), point, |process| {
            process.kill().unwrap();
            Then::Cut
        });
        trap.until_reached().await;
        assert!(!process.ended().await.success(), "{what}");
        eventually(&what, async || (left(&sandbox).await == (committed, false)).then_some(())).await;
        assert!(start(&Sandbox::url().await, sandbox.schema()).ended().await.success(), "{what}");
        sandbox.outbox().registry(crate::linkage::only_events()).build().await.unwrap();
    }
}

/// A migrator process that freezes in the middle holds the tables and the turn: the server ends its transaction, and the next one
/// completes.
#[tokio::test]
async fn a_frozen_migrator_is_ended_by_the_server() {
    let sandbox = Sandbox::empty().await;
    let proxy = Proxy::start(&Sandbox::url().await).unwrap();
    let (trap, process) = through(&proxy, sandbox.schema(), Point::after("create").nth(3), |process| {
        process.freeze().unwrap();
        Then::Pass
    });
    trap.until_reached().await;
    eventually("it holds the turn", async || left(&sandbox).await.1.then_some(())).await;
    tokio::time::timeout(Duration::from_secs(30), outbox::migrate_schema(sandbox.pool(), sandbox.schema()))
        .await
        .expect("the frozen one is not waited for for ever")
        .unwrap();
    process.thaw().unwrap();
    assert!(!process.ended().await.success());
    sandbox.outbox().registry(crate::linkage::only_events()).build().await.unwrap();
}
