//! One installation of PostgreSQL that is known to run here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Options;
use super::account::Account;
use super::bounded;
use super::error::ServerError;

/// The oldest major version that the engine's statements run on.
const OLDEST: u32 = 14;

/// The newest major version that can be fetched.
const NEWEST: u32 = 18;

/// Which versions will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted(Option<u32>);

impl Wanted {
    /// What the options say, else the environment, else any that the engine runs on.
    pub(super) fn of(options: &Options) -> Result<Self, ServerError> {
        let said = std::env::var("OUTBOX_PG_VERSION").ok().filter(|said| !said.is_empty());
        let major = match (options.major, said) {
            (Some(major), _) => Some(major),
            (None, Some(said)) => Some(said.parse().map_err(|_| ServerError::Version { said })?),
            (None, None) => None,
        };
        match major.filter(|major| *major < OLDEST) {
            Some(old) => Err(ServerError::Version { said: old.to_string() }),
            None => Ok(Self(major)),
        }
    }

    /// The version to fetch where there is none.
    pub(super) fn major(self) -> u32 {
        self.0.unwrap_or(NEWEST)
    }

    /// The version that was asked for.
    pub(super) fn exactly(self) -> Option<u32> {
        self.0
    }

    fn refuses(self, version: &str) -> Option<String> {
        match (major(version), self.0) {
            (Some(found), Some(wanted)) if found != wanted => Some(format!("version {version} is not {wanted}")),
            (Some(found), _) if found >= OLDEST => None,
            _ => Some(format!("version {version} is older than {OLDEST}")),
        }
    }
}

/// A folder with `initdb` and `postgres` that the server's account can run.
#[derive(Clone, Debug)]
pub(super) struct Binaries {
    folder: PathBuf,
    version: String,
}

impl Binaries {
    /// Runs `postgres --version` as the server would be run; the error says why this folder does not do.
    pub(super) fn probe(folder: &Path, wanted: Wanted, account: Account) -> Result<Self, String> {
        if !is_complete(folder) {
            return Err("`initdb` and `postgres` are not both there".to_owned());
        }
        let mut ask = account.command(&folder.join("postgres"));
        let answer = bounded::run(ask.arg("--version"), Duration::from_secs(20))?;
        let version = version(&answer).ok_or_else(|| format!("no version in `{}`", answer.trim()))?;
        if let Some(reason) = wanted.refuses(version) {
            return Err(reason);
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
    use super::{Wanted, major, version};

    /// The version is read from a distribution's longer line and from a beta's odd number.
    #[test]
    fn reads_versions() {
        let debian = "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n";
        assert_eq!(version(debian), Some("15.18"));
        assert_eq!(major("19beta1"), Some(19));
        assert_eq!(version("command not found"), None);
    }

    /// One that was asked for is the only one that will do; without a wish, all that are new enough.
    #[test]
    fn only_the_wanted_version_will_do() {
        assert_eq!(Wanted(Some(16)).refuses("16.4"), None);
        assert_eq!(Wanted(Some(16)).refuses("18.4"), Some("version 18.4 is not 16".to_owned()));
        assert_eq!(Wanted(None).refuses("14.0"), None);
        assert_eq!(Wanted(None).refuses("13.9"), Some("version 13.9 is older than 14".to_owned()));
    }
}
