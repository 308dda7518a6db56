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
    let mut cargo = program();
    cargo.arg(subcommand).arg("--manifest-path").arg(root().join("Cargo.toml"));
    cargo
}

/// The cargo that runs us, as if the user called it: without what it tells this program of this program's package. Build scripts that ask to
/// be run again when such a variable changes, as ring's, would otherwise be run by every other call of `cargo` and `cargo xtask`.
pub(crate) fn program() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_of_a_package) {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// What `cargo run` and `cargo test` set for the program that they start ([cargo's list](https://doc.rust-lang.org/cargo/reference/environment-variables.html)).
/// What else begins with `CARGO_` is the user's.
fn is_of_a_package(variable: &str) -> bool {
    const ALONE: [&str; 6] = [
        "CARGO_MANIFEST_DIR",
        "CARGO_MANIFEST_PATH",
        "CARGO_CRATE_NAME",
        "CARGO_BIN_NAME",
        "CARGO_PRIMARY_PACKAGE",
        "OUT_DIR",
    ];
    ALONE.contains(&variable) || variable.starts_with("CARGO_PKG_") || variable.starts_with("CARGO_BIN_EXE_")
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A nested cargo is told nothing of this package, and keeps what is the user's.
    #[test]
    fn cargo_is_called_as_the_user_calls_it() {
        // `cargo test` has set these for this very program.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some() && std::env::var_os("CARGO_PKG_NAME").is_some());
        let calls = [program(), cargo("build")];
        for call in &calls {
            let removed: Vec<_> = call.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
            let inherited =
                std::env::vars_os().map(|(name, _)| name).filter(|name| !removed.contains(&name.as_os_str()));
            let left: Vec<_> = inherited.filter(|name| name.to_str().is_some_and(is_of_a_package)).collect();
            assert!(left.is_empty(), "{left:?}");
            assert!(removed.iter().any(|name| *name == "CARGO_MANIFEST_DIR"), "{removed:?}");
        }
        for of_the_user in [
            "CARGO",
            "CARGO_HOME",
            "CARGO_TARGET_DIR",
            "CARGO_INCREMENTAL",
            "CARGO_TERM_COLOR",
            "CARGO_BUILD_JOBS",
            "CARGO_NET_OFFLINE",
            "CARGO_REGISTRIES_MINE_INDEX",
            "CARGO_PROFILE_DEV_DEBUG",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_MAKEFLAGS",
        ] {
            assert!(!is_of_a_package(of_the_user), "{of_the_user}");
        }
        for of_a_package in
            ["CARGO_PKG_VERSION", "CARGO_PKG_RUST_VERSION", "CARGO_MANIFEST_PATH", "CARGO_BIN_EXE_xtask", "OUT_DIR"]
        {
            assert!(is_of_a_package(of_a_package), "{of_a_package}");
        }
    }
}
