//! Which PgBouncer: one that this machine has, or one that is fetched.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{obtain, within};
use crate::server::account::Account;
use crate::server::bounded;
use crate::server::cache::Cache;
use crate::server::error::ServerError;

/// The first version that keeps prepared statements apart in transaction mode.
const OLDEST: (u32, u32) = (1, 21);

/// Names the program; then no other is looked for.
const NAMED: &str = "OUTBOX_PGBOUNCER";

/// A PgBouncer that is known to run here.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) version: String,
}

/// The first that will do, fetched if need be.
pub(super) fn program(cache: &Cache, account: Account) -> Result<Program, ServerError> {
    let hidden = std::env::var_os("OUTBOX_PG_HIDE").is_some_and(|value| value == "1");
    let named = std::env::var_os(NAMED).filter(|path| !path.is_empty() && !hidden).map(PathBuf::from);
    if let Some(path) = named {
        let refused = |reason| vec![format!("{NAMED}={}: {reason}", path.display())];
        return probe(&path, account).map_err(|reason| ServerError::NoPooler { tried: refused(reason) });
    }
    let local = (!hidden).then(|| within(&folders(), "pgbouncer")).flatten();
    let cached = obtain::place(cache);
    let mut tried = Vec::new();
    for path in local.into_iter().chain(cached.is_file().then_some(cached)) {
        match probe(&path, account) {
            Ok(program) => return Ok(program),
            Err(reason) => tried.push(format!("{}: {reason}", path.display())),
        }
    }
    match obtain::fetch(cache).and_then(|path| probe(&path, account)) {
        Ok(program) => Ok(program),
        Err(reason) => {
            tried.push(format!("apt-get: {reason}"));
            Err(ServerError::NoPooler { tried })
        }
    }
}

/// The folders of `PATH`, and those that a user's path often lacks.
fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin", "/usr/local/bin"];
    std::env::split_paths(&path).chain(system.map(PathBuf::from)).collect()
}

/// Asks it for its version; the error says why it does not do.
fn probe(path: &Path, account: Account) -> Result<Program, String> {
    let answer = bounded::run(account.command(path).arg("--version"), Duration::from_secs(20))?;
    let version = version(&answer).ok_or_else(|| format!("no version in `{}`", answer.trim()))?;
    if numbers(version).is_none_or(|numbers| numbers < OLDEST) {
        return Err(format!("version {version} is older than {}.{}", OLDEST.0, OLDEST.1));
    }
    Ok(Program { path: path.to_owned(), version: version.to_owned() })
}

/// `PgBouncer 1.24.1`, and then what it was built with.
fn version(answer: &str) -> Option<&str> {
    answer.lines().find_map(|line| line.strip_prefix("PgBouncer ")).map(str::trim)
}

fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{OLDEST, numbers, version};

    /// The version is read from what the program prints, and compared as numbers: 1.9 is older than 1.21.
    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(version("PgBouncer 1.24.1\nlibevent 2.1.13-stable\n"), Some("1.24.1"));
        assert!(numbers("1.9.0") < Some(OLDEST));
        assert!(numbers("1.21.0") >= Some(OLDEST));
        assert_eq!(version("command not found"), None);
    }
}
