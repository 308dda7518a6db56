//! Work that replicas share: held by the database, for nothing that one process remembers keeps another from it.

use std::process::{Command, Stdio};
use std::time::Duration;

use outbox::{Leases, SessionLock};
use outbox_testing::Sandbox;
use outbox_testing::fault::Process;
use sqlx::{AssertSqlSafe, PgPool};

use crate::floor::{Do, Floor, ask_many, say};
use crate::process::command;

const SCHEMA: &str = "OUTBOX_TEST_REPLICA_SCHEMA";
const URL: &str = "OUTBOX_TEST_REPLICA_URL";
const TURNS: usize = 15;

/// What a replica does; in the test run itself, nothing: takes its turns at work that one process does at a time, by a lease and by a lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let Ok(schema) = std::env::var(SCHEMA) else { return };
    let pool = PgPool::connect(&std::env::var(URL).unwrap()).await.unwrap();
    let leases = Leases::new(&pool).schema(&schema).unwrap();
    let lock = format!("turns of {schema}");
    say("ready");
    for _ in 0..TURNS {
        let lease = leases.lease("turns").length(Duration::from_secs(2)).unwrap();
        lease.run(async |_| turn(&pool, &schema, "lease").await).await.unwrap();
        // A lock that another has is no error of ours: again, until it is ours.
        while SessionLock::new(&pool, lock.as_str()).try_run(async || turn(&pool, &schema, "lock").await).await.is_err()
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    say("done");
}

/// Writes down when it begins and when it ends, by the server's clock.
async fn turn(pool: &PgPool, schema: &str, kind: &str) {
    let begin = format!("insert into \"{schema}\".turn (kind, process) values ($1, $2) returning id");
    let begin = sqlx::query_scalar(AssertSqlSafe(begin)).bind(kind).bind(i64::from(std::process::id()));
    let id: i64 = begin.fetch_one(pool).await.unwrap();
    tokio::time::sleep(Duration::from_millis(10)).await;
    let end = format!("update \"{schema}\".turn set ended_at = clock_timestamp() where id = $1");
    sqlx::query(AssertSqlSafe(end)).bind(id).execute(pool).await.unwrap();
}

async fn replica(sandbox: &Sandbox) -> Process {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "replicas::child", "--nocapture", "--test-threads=1"])
        .env(SCHEMA, sandbox.schema())
        .env(URL, Sandbox::server_url().await)
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    Process::spawn(&mut command).unwrap()
}

/// S2-71: two processes that both want to do what one may do at a time: their turns never overlap, though neither knows of the other.
#[tokio::test]
async fn two_processes_take_turns() {
    let sandbox = Sandbox::new().await;
    sandbox
        .execute(
            "create table :schema.turn (id bigint generated always as identity, kind text not null, process bigint not null,
                                        began_at timestamptz not null default clock_timestamp(), ended_at timestamptz)",
        )
        .await;
    let (one, other) = (replica(&sandbox).await, replica(&sandbox).await);
    for process in [&one, &other] {
        let ended = process.ended_within(Duration::from_mins(2)).await.unwrap();
        assert!(ended.is_some_and(|status| status.success()), "{:?}", process.lines());
    }
    let number = async |sql: &str| sandbox.number(sql).await;
    assert_eq!(
        number("select count(*) from :schema.turn where ended_at is not null").await,
        4 * i64::try_from(TURNS).unwrap()
    );
    assert_eq!(number("select count(distinct process) from :schema.turn").await, 2);
    let overlaps = "select count(*) from :schema.turn a join :schema.turn b
                      on a.kind = b.kind and a.id < b.id and b.began_at < a.ended_at and a.began_at < b.ended_at";
    assert_eq!(number(overlaps).await, 0);
}

/// S2-71, S2-46: two processes share a backlog: each job is begun once, by one of them, and both have some.
#[tokio::test]
async fn two_processes_share_a_backlog_and_no_job() {
    let floor = Floor::new().await;
    let outbox = floor.outbox(&["desk.narrow"]).build().await.unwrap();
    let mut processes = Vec::new();
    for _ in 0..2 {
        processes.push(Process::spawn(&mut command(&floor, &["desk.narrow"]).await).unwrap());
    }
    for process in &processes {
        process.until("ready").await;
    }
    ask_many(&outbox, 200, [Do::Slow(20)]).await;
    floor.until_settled().await;
    let begun: Vec<Vec<String>> = processes
        .iter()
        .map(|process| process.lines().into_iter().filter(|line| line.contains("began desk.narrow ")).collect())
        .collect();
    assert!(begun.iter().all(|lines| !lines.is_empty()), "both have some: {begun:?}");
    let mut all: Vec<String> = begun.concat().iter().map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect();
    assert_eq!(all.len(), 200);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 200, "and none twice");
}
