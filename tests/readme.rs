//! The README says what is true.

const README: &str = include_str!("../README.md");

/// The quickstart in the README is the example that compiles, word for word.
#[test]
fn the_quickstart_is_the_example() {
    let example = include_str!("../examples/quickstart.rs");
    let code = &example[example.find("use outbox::prelude").unwrap()..];
    assert!(README.contains(&format!("```rust\n{code}```")), "copy examples/quickstart.rs into the README");
    assert!(example.lines().count() < 60);
}

/// What the README shows of live streams is the beginning of the example that compiles, word for word.
#[test]
fn the_live_stream_is_the_example() {
    let example = include_str!("../outbox-axum/examples/live.rs");
    let code = &example[example.find("use axum::extract").unwrap()..example.find("async fn is_member").unwrap()];
    assert!(
        README.contains(&format!("```rust\n{}\n```", code.trim_end())),
        "copy outbox-axum/examples/live.rs into the README"
    );
}

/// The example of docs/faults.md is the test that runs, word for word.
#[test]
fn the_example_of_faults_is_the_test() {
    let test = include_str!("faults.rs");
    let code = &test[test.find("use outbox::prelude").unwrap()..];
    let docs = include_str!("../docs/faults.md");
    assert!(docs.contains(&format!("```rust,no_run\n{code}```")), "copy tests/faults.rs into docs/faults.md");
}

/// There are two commands to set up with, and no third.
#[test]
fn there_are_two_commands() {
    let commands: Vec<_> = README.lines().filter(|line| line.starts_with("cargo ")).collect();
    assert_eq!(commands.len(), 2, "{commands:?}");
    assert!(commands[0].starts_with("cargo xtask demo") && commands[1].starts_with("cargo xtask test"));
}

/// Every file that the README links to is there.
#[test]
fn its_links_lead_somewhere() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let targets = README.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    for target in targets.filter(|target| !target.starts_with("http")) {
        assert!(root.join(target).exists(), "{target} is not there");
    }
}
