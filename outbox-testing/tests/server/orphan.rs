//! The server does not outlive whoever started it.

use rustix::process::{Pid, test_kill_process};

use crate::held::{Held, eventually};
use crate::wire::ask;

fn is_alive(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// When the process that started it is killed with SIGKILL, the server ends and its folder is removed.
#[test]
fn gone_after_the_parent_is_killed() {
    let mut held = Held::start(|_| {});
    assert_eq!(ask(&held.url, "select 1").expect("an answer"), "1");
    held.kill();
    eventually("the postmaster has ended", || !is_alive(held.postmaster));
    let folder = held.data.parent().expect("the server's folder");
    eventually("the folder is removed", || !folder.exists());
    assert!(ask(&held.url, "select 1").is_err());
}
