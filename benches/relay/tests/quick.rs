//! That a run comes to its end and says everything. What it measures here means nothing.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use std::process::Command;

/// Both brokers take all messages from both sides, each once: the run fails otherwise.
#[test]
fn a_quick_run_measures_both_brokers() {
    let file = std::env::temp_dir().join(format!("outbox-bench-relay-{}.json", std::process::id()));
    let mut bench = Command::new(env!("CARGO_BIN_EXE_outbox-bench-relay"));
    let output = bench.args(["--quick", "--json"]).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
    let rounds = report["rounds"].as_array().unwrap();
    let brokers: Vec<_> = rounds.iter().map(|round| round["broker"].as_str().unwrap()).collect();
    assert_eq!(brokers, ["nats", "rabbitmq"]);
    assert!(rounds.iter().all(|round| round["ratio"].as_f64().unwrap() > 0.0), "{report}");
}
