//! The list of methods that keeps handlers from starting detached tasks, as a user's clippy reads it (`docs/clippy/clippy.toml`).

use std::path::Path;
use std::process::Command;

/// S2-55: clippy refuses each way in which a handler could start a task or a thread of nobody's, and names the remedy.
#[test]
fn clippy_refuses_detached_tasks_in_handlers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crate_of_handlers = root.join("tests/clippy");
    // The versions that this repository is locked to, so that nothing is downloaded.
    std::fs::copy(root.join("Cargo.lock"), crate_of_handlers.join("Cargo.lock"))
        .expect("the source folder can be written");
    let output = Command::new(env!("CARGO"))
        .args(["clippy", "--offline"])
        .current_dir(&crate_of_handlers)
        .env("CLIPPY_CONF_DIR", root.join("docs/clippy"))
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("tests").join("clippy"))
        .output()
        .expect("cargo starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "nothing was refused:\n{said}");
    let refused = |path: &str| format!("error: use of a disallowed method `{path}`");
    for path in [
        "tokio::task::spawn",
        "tokio::task::spawn_local",
        "tokio::runtime::Handle::spawn",
        "tokio::runtime::Runtime::spawn",
        "std::thread::spawn",
    ] {
        assert!(said.contains(&refused(path)), "{path}:\n{said}");
    }
    // The first of them by both of its names.
    assert_eq!(said.matches("error: use of a disallowed method").count(), 6, "{said}");
    assert_eq!(
        said.matches("is nobody's: take `outbox::Executor` as a parameter, or enqueue a job").count(),
        6,
        "{said}"
    );
}
