//! Debian's own package, where we may install it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::FETCH_LIMIT;
use crate::server::binaries::{Wanted, is_complete};
use crate::server::bounded;
use crate::server::cache::Cache;

/// Installs the release's own version, or exactly the one that is wanted, on Debian and its relatives as root, and says where
/// its programs are.
pub(super) fn install(_cache: &Cache, wanted: Wanted) -> Result<PathBuf, String> {
    if !Path::new("/etc/debian_version").exists() {
        return Err("this is no Debian".to_owned());
    }
    if !rustix::process::geteuid().is_root() {
        return Err("only root may install packages".to_owned());
    }
    // A fresh container has no lists, and old lists name files that are gone.
    apt(&["update", "-qq"])?;
    let package = wanted.exactly().map_or_else(|| "postgresql".to_owned(), |major| format!("postgresql-{major}"));
    apt(&["install", "-y", "-qq", "--no-install-recommends", &package])?;
    installed(wanted).ok_or_else(|| format!("`{package}` is installed, but not in /usr/lib/postgresql"))
}

fn apt(arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    bounded::run(&mut command, FETCH_LIMIT)
}

fn installed(wanted: Wanted) -> Option<PathBuf> {
    let versions = Path::new("/usr/lib/postgresql");
    if let Some(major) = wanted.exactly() {
        return Some(versions.join(major.to_string()).join("bin")).filter(|folder| is_complete(folder));
    }
    std::fs::read_dir(versions)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .find(|folder| is_complete(folder))
}
