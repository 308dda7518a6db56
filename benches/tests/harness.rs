//! The harness itself: that a run comes to its end and says everything. What it measures here means nothing.

use std::process::{Command, Output};

use serde_json::Value;

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_outbox-bench")).arg("bench").args(arguments).output().expect("it starts")
}

#[test]
fn a_quick_run_says_everything_as_json() {
    let folder = std::env::temp_dir().join(format!("outbox-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("run.json");
    let output = bench(&["--quick", "--only", "drain,publish", "--pairs", "1", "--json", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    for (work, sides) in [("publish", 3), ("drain", 2)] {
        let cells = document["works"][work]["cells"].as_array().unwrap();
        assert_eq!(cells.len(), sides, "{work}");
        for cell in cells {
            assert!(cell["seconds"].as_f64().unwrap() > 0.0, "{cell}");
            assert!(cell["jobs"].as_u64().unwrap() >= 500, "{cell}");
            assert!(cell["wal_bytes"].as_u64().unwrap() > 0, "{cell}");
        }
    }
    for key in ["publish", "drain", "wal_publish", "wal_drain"] {
        let line = &document["targets"][key][0];
        assert!(line["value"]["median"].as_f64().unwrap() > 0.0, "{key}: {line}");
        assert!(line["met"].is_boolean(), "{key}: {line}");
    }
}

#[cfg(debug_assertions)]
#[test]
fn a_build_that_is_not_optimized_is_refused() {
    let output = bench(&["--only", "drain"]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("not optimized"));
}
