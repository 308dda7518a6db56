//! A short fault run, with the programs as they are.

use std::path::Path;
use std::process::Command;

use outbox_chaos::check::Rule;
use serde_json::Value;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_outbox-chaos"))
}

/// Half a minute of faults on workers, publishers, network and server: nothing is lost, transactional effects are
/// there once, attempts and crashes stay within their limits. What a rule did not look at it does not prove, so each has looked.
#[test]
fn half_a_minute_of_faults_breaks_no_guarantee() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chaos");
    let mut run = program();
    run.args(["run", "--seed", "7", "--minutes", "0.4", "--fault-every", "1", "--json", "--folder"]).arg(&folder);
    let output = run.output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {report:#}\n{said}", output.status);
    assert_eq!(report["violations"], 0);
    for counted in ["faults", "jobs", "rescued", "redriven"] {
        assert!(report[counted].as_u64().is_some_and(|count| count > 0), "no {counted}: {report:#}");
    }
    // Whether an answer was lost is for the run to say; everything else has to have been met.
    for rule in Rule::ALL.into_iter().filter(|rule| *rule != Rule::UnknownIsWhole) {
        let name = serde_json::to_value(rule).unwrap();
        let times = &report["checked"][name.as_str().unwrap()];
        assert!(times.as_u64().is_some_and(|times| times > 0), "`{rule}` has looked at nothing: {report:#}");
    }
    assert!(!folder.exists(), "a sound run leaves nothing behind");
}

/// The plan is printed, and is the same again.
#[test]
fn the_plan_of_a_seed_can_be_read() {
    let plan = |seed: &str| {
        let output = program().args(["run", "--plan", "--minutes", "10", "--seed", seed]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(plan("1"), plan("1"));
    assert_ne!(plan("1"), plan("2"));
    assert!(plan("1").contains("failover to a synchronous replica"), "ten minutes are long enough for one");
}
