//! A short fault run, with the programs as they are.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use outbox_chaos::check::Rule;
use outbox_chaos::conductor::{Patience, carry_out};
use outbox_chaos::plan::{Connections, Fault, Holds, Kind, Nodes, Plan, Weather};
use outbox_chaos::report::Report;
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

/// Who asks for help is told what to type, not what the program behind it is called.
#[test]
fn help_names_the_command() {
    let output = program().args(["run", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(help.contains("Usage: cargo xtask chaos"), "{help}");
    assert!(!help.contains("outbox-chaos"), "{help}");
}

/// Carries out a plan of a worker and a publisher, in a folder of its own, and answers with that folder.
async fn carried_out(name: &str, seconds: u64, faults: Vec<(f64, Kind)>, patience: Patience) -> (Report, PathBuf) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the run");
    let faults = faults.into_iter().map(|(at, kind)| Fault { at: Duration::from_secs_f64(at), kind }).collect();
    let nodes = Nodes { workers: 1, publishers: 1 };
    let plan = Plan { seed: 7, length: Duration::from_secs(seconds), nodes, faults, failover: None };
    let program = Path::new(env!("CARGO_BIN_EXE_outbox-chaos"));
    let report = carry_out(plan, 40.0, &folder, program, patience).await.expect("the run can be carried out");
    (report, folder)
}

/// A publisher that is forgotten in the middle of its transactions, and sessions that want the table which somebody else holds: those
/// give up, nobody stands behind them for long, and the run comes to its end.
#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_publisher_and_a_held_table_end() {
    let forget = || {
        let place = "publisher-1".to_owned();
        Kind::Network { place, connections: Connections::All, what: Weather::Forget, lasts: Duration::ZERO }
    };
    let hold = |holds, millis| Kind::Session { holds, lasts: Duration::from_millis(millis) };
    let table = || Holds::Table("job_live", "access exclusive");
    let faults = vec![
        (1.0, forget()),
        (1.1, forget()),
        (1.2, hold(table(), 300)),
        (5.0, hold(Holds::Rows, 4_000)),
        // Cannot be had: the rows are held for longer than it asks.
        (5.5, hold(table(), 300)),
    ];
    let (report, folder) = carried_out("forgotten", 10, faults, Patience::default()).await;
    assert!(report.is_sound(), "{report}");
    assert_eq!((report.by_kind["forget"], report.by_kind["locked rows"]), (2, 1), "{report}");
    assert!(report.missed >= 1, "the second table was not to be had: {report}");
    assert!(report.jobs > 0 && report.jobs == report.succeeded + report.failed, "{report}");
    assert!(report.started.values().all(|started| started.times < 10), "{report}");
    assert!(!folder.join("stuck").exists());
    std::fs::remove_dir_all(folder).unwrap();
}

/// A fault that does not end, and jobs that cannot: the run says so, with who waits for whom and who is there, and is not sound.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_stuck_says_so_and_ends() {
    let holds = Holds::Table("job_live", "access exclusive");
    let faults = vec![(1.0, Kind::Session { holds, lasts: Duration::from_hours(1) })];
    let patience = Patience { faults: Duration::from_secs(2), ..Patience::default() };
    let (report, folder) = carried_out("stuck", 2, faults, patience).await;
    assert!(!report.is_sound(), "{report}");
    assert_eq!(report.violations, 0, "the jobs end once the session is ended: {report}");
    assert_eq!(report.stuck.len(), 1, "{report}");
    assert!(report.stuck[0].contains("a session holds table job_live in access exclusive mode"), "{report}");
    let dump = std::fs::read_to_string(folder.join("stuck")).unwrap();
    for part in
        ["fault session, idle in transaction", "waits for {", "starts of worker-1: 1;", "starts of publisher-1: "]
    {
        assert!(dump.contains(part), "`{part}` is not in {dump}");
    }
    assert!(folder.join("server.log").exists() && folder.join("conductor.ledger").exists());
    std::fs::remove_dir_all(folder).unwrap();
}
