//! Debian's own package, where we may install it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::FETCH_LIMIT;
use crate::server::binaries::is_complete;
use crate::server::bounded;
use crate::server::cache::Cache;

/// Installs `postgresql` on Debian and its relatives as root, and says where its programs are.
pub(super) fn install(_cache: &Cache) -> Result<PathBuf, String> {
    if !Path::new("/etc/debian_version").exists() {
        return Err("this is no Debian".to_owned());
    }
    if !rustix::process::geteuid().is_root() {
        return Err("only root may install packages".to_owned());
    }
    // A fresh container has no lists, and old lists name files that are gone.
    apt(&["update", "-qq"])?;
    apt(&["install", "-y", "-qq", "--no-install-recommends", "postgresql"])?;
    installed().ok_or_else(|| "`postgresql` is installed, but not in /usr/lib/postgresql".to_owned())
}

fn apt(arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    bounded::run(&mut command, FETCH_LIMIT)
}

fn installed() -> Option<PathBuf> {
    std::fs::read_dir("/usr/lib/postgresql")
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .find(|folder| is_complete(folder))
}
