//! Tests of what belongs to the whole process run in a process of their own.

use std::process::{Command, Stdio};

use outbox_testing::Sandbox;

const VARIABLE: &str = "OUTBOX_TEST_ALONE";

/// Whether this process runs `test` alone, so that the caller is to go on. Otherwise such a process is started, and its
/// success asserted.
pub async fn alone(test: &'static str) -> bool {
    if std::env::var(VARIABLE).is_ok_and(|name| name == test) {
        return true;
    }
    let url = Sandbox::url().await;
    let child = tokio::task::spawn_blocking(move || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads", "1"])
            .env(VARIABLE, test)
            .env("OUTBOX_TEST_DATABASE_URL", url)
            .stdin(Stdio::null())
            .output()
    });
    let output = child.await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "no test is called `{test}`: {said}");
    false
}
