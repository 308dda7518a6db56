//! Short fault runs, with the programs as they are.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use std::path::Path;
use std::process::Command;

use outbox_chaos_broker::check::Rule;
use serde_json::Value;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_outbox-chaos-broker"))
}

/// Faults on broker, networks, processes and database server. What a rule did not look at it does not prove, so each has looked.
fn breaks_no_guarantee(broker: &str, seed: &str) {
    // They are started from beside the program.
    for service in [env!("CARGO_BIN_EXE_outbox-chaos-sender"), env!("CARGO_BIN_EXE_outbox-chaos-receiver")] {
        assert!(Path::new(service).is_file(), "{service}");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("chaos-{broker}"));
    let mut run = program();
    run.args(["--broker", broker, "--seed", seed, "--minutes", "0.4", "--fault-every", "2", "--json", "--folder"]);
    let output = run.arg(&folder).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {report:#}\n{said}", output.status);
    assert_eq!((&report["violations"], &report["stuck"]), (&Value::from(0), &Value::Null));
    for rule in Rule::ALL {
        let name = serde_json::to_value(rule).unwrap();
        let times = &report["checked"][name.as_str().unwrap()];
        assert!(times.as_u64().is_some_and(|times| times > 0), "`{rule}` has looked at nothing: {report:#}");
    }
    let of_broker = report["faults"].as_object().unwrap().iter().filter(|(name, _)| name.starts_with("broker"));
    assert!(of_broker.filter_map(|(_, counts)| counts[1].as_u64()).sum::<u64>() > 2, "{report:#}");
    assert!(!folder.exists(), "a sound run leaves nothing behind");
}

/// S2-20, S2-30: what was committed here arrives and has its effect there, once, whatever happens to the broker between.
#[test]
fn nothing_is_lost_or_doubled_across_nats() {
    breaks_no_guarantee("nats", "5");
}

/// S2-20, S2-30: the same across RabbitMQ.
#[test]
fn nothing_is_lost_or_doubled_across_rabbitmq() {
    breaks_no_guarantee("rabbitmq", "5");
}

/// The plan is printed, and is the same again.
#[test]
fn the_plan_of_a_seed_can_be_read() {
    let plan = |seed: &str| {
        let output = program().args(["--broker", "nats", "--plan", "--seed", seed]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(plan("1"), plan("1"));
    assert_ne!(plan("1"), plan("2"));
    assert!(plan("1").contains("broker"), "{}", plan("1"));
}
