//! All of it, in short.

use outbox_testing::Sandbox;
use serde_json::Value;
use tokio::process::Command;

/// S2-12, S2-20, S2-36: versions change, the broker is away, services are killed, messages cannot be taken,
/// rows are damaged, facts come twice, all under load: at the end both services agree, each policy was charged exactly once, nothing lies about, and
/// one trace leads through both.
#[tokio::test]
async fn the_fleet_comes_through_it_all() {
    let mut play = Command::new(env!("CARGO_BIN_EXE_fleet-demo"));
    play.args(["--broker", "nats", "--json", "--rate", "25", "--stretch", "1", "--outage", "4"]);
    play.env("OUTBOX_TEST_DATABASE_URL", Sandbox::server_url().await).kill_on_drop(true);
    let output = play.output().await.unwrap();
    let (answer, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let figures: Value = serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{told}"));
    assert_eq!(figures["proof"], true, "{told}\n{figures:#}");
    assert!(output.status.success());
    assert_eq!(answer.lines().count(), 1, "{answer}");
    assert!(figures["checks"].as_array().unwrap().len() > 20, "{figures:#}");
    assert_eq!(figures["trace"].as_str().unwrap().len(), 32);
}
