//! A fresh data folder, copied from one that `initdb` made once: 0.2 s instead of 0.9 s.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::Duration;

use super::account::Account;
use super::binaries::Binaries;
use super::bounded;
use super::cache::Cache;
use super::error::ServerError;

const INITDB_LIMIT: Duration = Duration::from_mins(2);

/// Goes into the template's name: change it with the arguments of `initdb`.
const REVISION: u32 = 1;

/// Makes the data folder `data`, which must not be there yet, for the server's account.
pub(super) fn data_folder(
    binaries: &Binaries,
    account: Account,
    cache: &Cache,
    data: &Path,
) -> Result<(), ServerError> {
    let name = name(binaries);
    let template = cache.place(&name);
    if template.is_dir() {
        return copy(&template, data, account).map_err(ServerError::io(format!("copy `{}`", template.display())));
    }
    initdb(binaries, account, data)?;
    // The run does not depend on the template: a full disk is somebody else's complaint.
    let _ = keep(data, cache, &name);
    Ok(())
}

/// Two builds of one version may differ in what `initdb` writes, so the folder is part of the name.
fn name(binaries: &Binaries) -> String {
    let mut hasher = DefaultHasher::new();
    binaries.folder().hash(&mut hasher);
    format!("data-{}-{REVISION}-{:016x}", binaries.version(), hasher.finish())
}

fn initdb(binaries: &Binaries, account: Account, data: &Path) -> Result<(), ServerError> {
    let mut initdb = account.command(&binaries.program("initdb"));
    initdb.arg("-D").arg(data);
    initdb.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]);
    // Else `initdb` writes this machine's zone into the settings, and tests would differ between machines.
    initdb.env("TZ", "UTC");
    bounded::run(&mut initdb, INITDB_LIMIT).map(drop).map_err(|output| ServerError::Initdb { output })
}

fn keep(data: &Path, cache: &Cache, name: &str) -> std::io::Result<()> {
    let staging = cache.staging()?;
    let finished = staging.path().join("data");
    copy(data, &finished, Account::ours())?;
    cache.keep(&finished, name).map(drop)
}

/// Copies a data folder that no server uses. It holds folders and plain files only.
pub(super) fn copy(from: &Path, to: &Path, account: Account) -> std::io::Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target, account)?;
        } else {
            std::fs::copy(entry.path(), &target)?;
            account.own(&target)?;
        }
    }
    // PostgreSQL refuses a data folder that others can read.
    std::fs::set_permissions(to, std::fs::metadata(from)?.permissions())?;
    account.own(to)
}
