//! Processes that are frozen, killed and asked to end.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::time::Duration;

use outbox_testing::fault::Process;
use rustix::process::{Pid, test_kill_process};

/// It says `ready`, and `asked` when it is asked to end.
const SCRIPT: &str = "trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.01; done";

fn start() -> Process {
    Process::spawn(Command::new("sh").args(["-c", SCRIPT])).unwrap()
}

/// A process that is asked to end can do so in good order.
#[tokio::test]
async fn terminated_in_good_order() {
    let process = start();
    process.until("ready").await;
    process.terminate().unwrap();
    process.until("asked").await;
    assert_eq!(process.ended().await.code(), Some(3));
    assert_eq!(process.lines(), ["ready", "asked"]);
    assert!(process.terminate().is_err(), "it has ended");
}

/// A frozen process does nothing, not even when it is asked to end, and goes on when it is thawed; again and again.
#[tokio::test]
async fn frozen_and_thawed() {
    let process = start();
    process.until("ready").await;
    process.freeze().unwrap();
    process.thaw().unwrap();
    process.freeze().unwrap();
    if let Ok(state) = std::fs::read_to_string(format!("/proc/{}/stat", process.pid())) {
        assert!(state.contains(") T "), "{state}");
    }
    process.terminate().unwrap();
    assert_eq!(process.ended_within(Duration::ZERO).await.unwrap(), None);
    process.thaw().unwrap();
    process.until("asked").await;
    assert_eq!(process.ended().await.code(), Some(3));
}

/// A killed process is gone at once, also when it is frozen, and cannot say anything.
#[tokio::test]
async fn killed_while_frozen() {
    let process = start();
    process.until("ready").await;
    process.freeze().unwrap();
    process.handle().kill().unwrap();
    assert_eq!(process.try_ended().unwrap().and_then(|status| status.signal()), Some(9));
    assert_eq!(process.heard("asked"), 0);
    process.kill().unwrap();
}

/// A process does not outlive its value.
#[tokio::test]
async fn killed_on_drop() {
    let process = start();
    process.until("ready").await;
    let pid = Pid::from_raw(process.pid().cast_signed()).unwrap();
    test_kill_process(pid).unwrap();
    drop(process);
    assert!(test_kill_process(pid).is_err());
}
