//! Somebody presses Ctrl-C.

use std::collections::BTreeSet;
use std::process::Stdio;

use outbox_testing::{Sandbox, eventually};
use rustix::process::{Pid, Signal, kill_process};
use sqlx::{Connection as _, PgConnection};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

/// It ends as failed, and neither its databases nor its processes nor its folders stay.
#[tokio::test]
async fn ctrl_c_ends_everything_and_leaves_nothing_behind() {
    let url = Sandbox::server_url().await;
    let folder = tempfile::tempdir().unwrap();
    let mut play = Command::new(env!("CARGO_BIN_EXE_fleet-demo"));
    play.args(["--broker", "nats", "--stretch", "60"]);
    play.env("OUTBOX_TEST_DATABASE_URL", &url).env("TMPDIR", folder.path());
    let mut playing = play.stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true).spawn().unwrap();
    let pid = playing.id().unwrap();
    let mut lines = BufReader::new(playing.stdout.take().unwrap()).lines();
    while !lines.next_line().await.unwrap().unwrap().contains("commands are given from now on") {}
    let children = below(pid).await;
    assert!(children.len() >= 3, "a broker and two services: {children:?}");
    assert_eq!(databases(&url, pid).await, 2);
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::INT).unwrap();
    assert_eq!(playing.wait().await.unwrap().code(), Some(1));
    eventually("all its processes have ended", async || running().await.is_disjoint(&children).then_some(())).await;
    assert_eq!(databases(&url, pid).await, 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "its folders are gone");
}

/// All processes, each with the one that started it; those that have ended and were not asked how are left out.
async fn processes() -> Vec<(u32, u32)> {
    let listed = Command::new("ps").args(["-A", "-o", "pid=,ppid=,stat="]).output().await.unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let lines = listed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let running = lines.filter(|words| !words[2].starts_with('Z'));
    running.map(|words| (words[0].parse().unwrap(), words[1].parse().unwrap())).collect()
}

async fn running() -> BTreeSet<u32> {
    processes().await.into_iter().map(|(process, _)| process).collect()
}

/// Everything that it has started, and that these have.
async fn below(pid: u32) -> BTreeSet<u32> {
    let processes = processes().await;
    let (mut below, mut of) = (BTreeSet::new(), vec![pid]);
    while let Some(parent) = of.pop() {
        let children = processes.iter().filter(|(_, its)| *its == parent).map(|(process, _)| *process);
        let new: Vec<_> = children.filter(|process| below.insert(*process)).collect();
        of.extend(new);
    }
    below
}

/// How many databases it has.
async fn databases(url: &str, pid: u32) -> i64 {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let count = sqlx::query_scalar("select count(*) from pg_database where datname ~ $1");
    count.bind(format!("^fleet_[a-z]+_{pid}_")).fetch_one(&mut connection).await.unwrap()
}
