//! One installation of PostgreSQL that is known to run here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::account::Account;
use super::bounded;

/// The oldest major version that the engine's statements run on.
const OLDEST: u32 = 14;

/// A folder with `initdb` and `postgres` that the server's account can run.
#[derive(Clone, Debug)]
pub(super) struct Binaries {
    folder: PathBuf,
    version: String,
}

impl Binaries {
    /// Runs `postgres --version` as the server would be run; the error says why this folder does not do.
    pub(super) fn probe(folder: &Path, account: Account) -> Result<Self, String> {
        if !is_complete(folder) {
            return Err("`initdb` and `postgres` are not both there".to_owned());
        }
        let mut ask = account.command(&folder.join("postgres"));
        let answer = bounded::run(ask.arg("--version"), Duration::from_secs(20))?;
        let version = version(&answer).ok_or_else(|| format!("no version in `{}`", answer.trim()))?;
        if major(version).is_none_or(|major| major < OLDEST) {
            return Err(format!("version {version} is older than {OLDEST}"));
        }
        Ok(Self { folder: folder.to_owned(), version: version.to_owned() })
    }

    /// Where this program is.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The folder of all of them.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// As the server itself says it, for instance `18.4`.
    pub(super) fn version(&self) -> &str {
        &self.version
    }
}

/// Whether a folder has both programs that a cluster needs. Some systems put only the client's on the path.
pub(super) fn is_complete(folder: &Path) -> bool {
    ["initdb", "postgres"].iter().all(|name| folder.join(name).is_file())
}

/// `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)` is version `15.18`.
fn version(answer: &str) -> Option<&str> {
    answer.split_once("(PostgreSQL)")?.1.split_whitespace().next()
}

fn major(version: &str) -> Option<u32> {
    let digits = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
    version[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{major, version};

    /// The version is read from a distribution's longer line and from a beta's odd number.
    #[test]
    fn reads_versions() {
        let debian = "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n";
        assert_eq!(version(debian), Some("15.18"));
        assert_eq!(major("19beta1"), Some(19));
        assert_eq!(version("command not found"), None);
    }
}
