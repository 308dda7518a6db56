//! What cargo built: which program came from which source. The lines that `cargo test` prints do not name the package.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::child::Running;

/// One program that cargo built.
#[derive(Debug, PartialEq)]
pub(crate) struct Artifact {
    /// Named as `cargo nextest` names them: `package`, `package::test`, `package::bin/program`.
    pub(crate) id: String,
    /// The target's first source file.
    pub(crate) root: PathBuf,
    /// The program.
    pub(crate) executable: PathBuf,
}

/// Runs a `cargo build` or `cargo test --no-run`, whose messages for people go to the terminal as ever. `None` when the
/// build failed.
pub(crate) fn build(cargo: &mut Command) -> Result<Option<Vec<Artifact>>, Box<dyn Error>> {
    let mut running = Running::start(cargo.stdin(Stdio::null()).stdout(Stdio::piped()))?;
    let output = running.handle().stdout.take().ok_or("cargo has no output")?;
    let mut artifacts = Vec::new();
    for line in BufReader::new(output).lines() {
        let message = serde_json::from_str(&line?).unwrap_or(Value::Null);
        artifacts.extend(artifact(&message));
    }
    Ok(running.wait()?.success().then_some(artifacts))
}

fn artifact(message: &Value) -> Option<Artifact> {
    let target = &message["target"];
    let root = Path::new(target["src_path"].as_str()?).to_owned();
    let manifest = Path::new(message["manifest_path"].as_str()?);
    Some(Artifact {
        id: id(
            &package(message["package_id"].as_str()?, manifest),
            target["kind"][0].as_str()?,
            target["name"].as_str()?,
        ),
        executable: message["executable"].as_str()?.into(),
        root,
    })
}

/// `path+file:///folder/name#0.1.0` or `path+file:///folder#name@0.1.0`, the latter where folder and name differ.
fn package(id: &str, manifest: &Path) -> String {
    let after = id.rsplit('#').next().unwrap_or_default();
    match after.split_once('@') {
        Some((name, _)) => name.to_owned(),
        None => manifest.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned(),
    }
}

fn id(package: &str, kind: &str, name: &str) -> String {
    match kind {
        "test" => format!("{package}::{name}"),
        "bin" | "example" | "bench" => format!("{package}::{kind}/{name}"),
        _ => package.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::artifact;

    /// A message about a test program gives its package, its source and its program.
    #[test]
    fn reads_a_message() {
        let message = json!({
            "reason": "compiler-artifact",
            "package_id": "path+file:///w#outbox@0.1.0",
            "manifest_path": "/w/Cargo.toml",
            "target": {"kind": ["test"], "name": "engine", "src_path": "/w/tests/engine/main.rs"},
            "executable": "/w/target/debug/deps/engine-0123",
        });
        let artifact = artifact(&message).expect("an artifact");
        assert_eq!(artifact.id, "outbox::engine");
        assert_eq!(artifact.root, Path::new("/w/tests/engine/main.rs"));
    }

    /// A library's tests carry the package's name alone, which is the folder's where cargo leaves it out.
    #[test]
    fn names_a_library_by_its_package() {
        let message = json!({
            "package_id": "path+file:///w/outbox-core#0.1.0",
            "manifest_path": "/w/outbox-core/Cargo.toml",
            "target": {"kind": ["lib"], "name": "outbox_core", "src_path": "/w/outbox-core/src/lib.rs"},
            "executable": "/w/target/debug/deps/outbox_core-0123",
        });
        assert_eq!(artifact(&message).expect("an artifact").id, "outbox-core");
        assert_eq!(artifact(&json!({"reason": "build-finished", "success": true})), None);
    }
}
