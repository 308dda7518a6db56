//! What reaches the program and what does not: a workspace of small crates (`tests/link`), built by cargo as a user's.
//!
//! `web` lists its handlers' crates and names none; `app` names them all; `renamed` calls the facade otherwise; `faulty`
//! has siblings that declare the same. Its facade is this one without the engine, so that no driver is compiled.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

const EVERY_NAME: [&str; 9] = [
    "event cart.emptied v1",
    "event cart.filled v1",
    "event order.placed v1",
    "job analytics.rebuild v1",
    "subscriber analytics.rebuild",
    "subscriber analytics.record",
    "subscriber carts.count",
    "subscriber carts.note",
    "subscriber inventory.take",
];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/link")
}

/// The versions that this repository is locked to are those of the small crates too, so that nothing is downloaded.
fn copy_the_lock_file() {
    static COPIED: Once = Once::new();
    COPIED.call_once(|| {
        let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock");
        std::fs::copy(lock, workspace().join("Cargo.lock")).expect("the source folder can be written");
    });
}

/// What a cargo command prints.
fn cargo(arguments: &[&str]) -> String {
    copy_the_lock_file();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("tests").join("link");
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--quiet", "--offline"])
        .current_dir(workspace())
        .env("CARGO_TARGET_DIR", target)
        .output()
        .expect("cargo starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?}:\n{said}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// B1, O32: the compiler does not load a crate that no line names. This is the fault that `modules!` is there for; should
/// a compiler ever load such crates, this test says so.
#[test]
fn a_crate_that_no_line_names_is_not_in_the_program() {
    assert_eq!(cargo(&["run", "--package", "web"]).trim(), "event order.placed v1");
}

/// B1, S0-13: every crate that `modules!` names is in the program, in a build as developers make it.
#[test]
fn modules_has_every_named_crate_loaded() {
    assert_eq!(cargo(&["run", "--package", "app"]).lines().collect::<Vec<_>>(), EVERY_NAME);
}

/// O32, S0-13: a handler in a private module that nothing refers to survives release with link-time optimisation.
#[test]
fn link_time_optimisation_keeps_every_handler() {
    assert_eq!(cargo(&["run", "--release", "--package", "app"]).lines().collect::<Vec<_>>(), EVERY_NAME);
}

/// B1: an integration test is a program of its own, and has what the library that it calls has. A crate whose own unit
/// tests link it twice is no duplicate of itself.
#[test]
fn tests_have_the_handlers_and_no_false_duplicates() {
    cargo(&["test", "--package", "app", "--package", "orders"]);
}

/// S0-10, S2-7: crates that do not see each other can declare one name twice; the program is refused with both places.
#[test]
fn duplicates_of_sibling_crates_are_refused_with_both_places() {
    let faults = cargo(&["run", "--package", "faulty"]);
    let first = "twice-a/src/lib.rs:4 (crate `twice-a`) and twice-b/src/lib.rs:4 (crate `twice-b`)";
    assert!(faults.contains(&format!("two events are named `stock.moved` (version 1): {first}")), "{faults}");
    let first = "twice-a/src/lib.rs:7 (crate `twice-a`) and twice-b/src/lib.rs:7 (crate `twice-b`)";
    assert!(faults.contains(&format!("two handlers answer to `stock.count`: {first}")), "{faults}");
}

/// B1: a crate that is named and declares nothing is most likely the wrong one.
#[test]
fn a_named_crate_that_declares_nothing_is_refused() {
    let faults = cargo(&["run", "--package", "faulty"]);
    assert!(faults.contains("`modules!` (faulty/src/main.rs:3 (crate `faulty`)) names `quiet`"), "{faults}");
}
