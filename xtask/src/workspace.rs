//! Where the workspace is, and cargo.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The workspace's top folder.
pub(crate) fn root() -> PathBuf {
    // Set by `cargo run`; what was compiled in is right unless the folder was moved.
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    xtask.parent().map_or_else(|| xtask.clone(), Path::to_owned)
}

/// The cargo that runs us. The folder stays the user's, so that relative paths mean what they meant.
pub(crate) fn cargo(subcommand: &str) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.arg(subcommand).arg("--manifest-path").arg(root().join("Cargo.toml"));
    cargo
}

/// What `cargo metadata` says about the workspace's own packages.
pub(crate) fn metadata() -> Result<Value, Box<dyn Error>> {
    let output = cargo("metadata").args(["--no-deps", "--format-version", "1"]).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err("`cargo metadata` failed".into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// A source file as it is written in reports: from the top folder, wherever the checkout is.
pub(crate) fn relative(file: &Path) -> String {
    file.strip_prefix(root()).unwrap_or(file).display().to_string()
}
