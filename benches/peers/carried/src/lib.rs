//! For build scripts: files that a library carries, where cargo has unpacked it. Two peers ask their users to copy migrations out of
//! the package; what is measured here are those of the version that is locked, and no copy of ours.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// Sets `variable` for the crate that is built to the path of `file` in `package`.
pub fn tell(variable: &str, package: &str, file: &str) -> Result<()> {
    let path = folder(package)?.join(file);
    ensure!(path.exists(), "`{package}` carries no `{file}`");
    println!("cargo::rustc-env={variable}={}", path.display());
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}

fn folder(package: &str) -> Result<PathBuf> {
    let mut cargo = Command::new(env::var("CARGO")?);
    // Of this platform alone: cargo has not fetched what others need.
    cargo.args(["metadata", "--format-version=1", "--locked", "--offline", "--filter-platform", &env::var("TARGET")?]);
    let output = cargo.current_dir(env::var("CARGO_MANIFEST_DIR")?).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo tells of no packages")?;
    let manifest = packages.iter().find(|it| it["name"] == package).and_then(|it| it["manifest_path"].as_str());
    let manifest = manifest.with_context(|| format!("`{package}` is not among the packages"))?;
    Ok(Path::new(manifest).parent().context("a manifest lies in a folder")?.to_owned())
}
