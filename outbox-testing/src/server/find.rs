//! Where PostgreSQL may already be, and in which order it is looked for.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::binaries::is_complete;
use super::bounded;
use super::cache::Cache;
use super::obtain;

/// `parent/prefix*/bin`: one folder a major version.
const INSTALLED: [(&str, &str); 6] = [
    ("/usr/lib/postgresql", ""),
    ("/usr", "pgsql-"),
    ("/opt/homebrew/opt", "postgresql@"),
    ("/usr/local/opt", "postgresql@"),
    ("/home/linuxbrew/.linuxbrew/opt", "postgresql@"),
    ("/Applications/Postgres.app/Contents/Versions", ""),
];

/// The places to look at. A value, so that a test can lay out a system of its own.
#[derive(Debug)]
pub(super) struct Search {
    /// `OUTBOX_PG_BIN`.
    pub(super) named: Option<PathBuf>,
    /// The folders of `PATH`.
    pub(super) path: Vec<PathBuf>,
    /// Parents and prefixes of folders that hold one version each.
    pub(super) installed: Vec<(PathBuf, String)>,
    /// What we fetched earlier.
    pub(super) cached: Vec<PathBuf>,
    /// `OUTBOX_PG_HIDE=1`: act as a machine without PostgreSQL, apart from our own cache.
    pub(super) hidden: bool,
}

impl Search {
    /// This machine.
    pub(super) fn of_this_machine(cache: &Cache) -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self {
            named: std::env::var_os("OUTBOX_PG_BIN").filter(|folder| !folder.is_empty()).map(PathBuf::from),
            path: std::env::split_paths(&path).collect(),
            installed: INSTALLED.iter().map(|(parent, prefix)| (PathBuf::from(parent), (*prefix).to_owned())).collect(),
            cached: obtain::places(cache),
            hidden: std::env::var_os("OUTBOX_PG_HIDE").is_some_and(|value| value == "1"),
        }
    }

    /// The folder that was asked for by name, which leaves nothing to search.
    pub(super) fn named(&self) -> Option<&Path> {
        self.named.as_deref().filter(|_| !self.hidden)
    }

    /// The folders that hold a whole PostgreSQL, best first. Lazy: `pg_config` runs only when nothing came before.
    pub(super) fn candidates(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let local = (!self.hidden).then(|| self.local());
        local.into_iter().flatten().chain(self.cached.iter().cloned()).filter(|folder| is_complete(folder))
    }

    fn local(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let on_path = self.path.iter().filter(|folder| is_complete(folder)).map(|folder| resolved(folder));
        let told = std::iter::once_with(|| self.told_by_pg_config()).flatten();
        let installed = self.installed.iter().flat_map(|(parent, prefix)| newest_first(parent, prefix));
        on_path.chain(told).chain(installed)
    }

    fn told_by_pg_config(&self) -> Option<PathBuf> {
        let program = self.path.iter().map(|folder| folder.join("pg_config")).find(|file| file.is_file())?;
        let answer = bounded::run(Command::new(program).arg("--bindir"), Duration::from_secs(10)).ok()?;
        Some(PathBuf::from(answer.trim()))
    }
}

/// The folder behind the links: a link on the path often points into an installation whose other programs and
/// libraries are only there.
fn resolved(folder: &Path) -> PathBuf {
    folder
        .join("initdb")
        .canonicalize()
        .ok()
        .and_then(|program| Some(program.parent()?.to_owned()))
        .filter(|folder| is_complete(folder))
        .unwrap_or_else(|| folder.to_owned())
}

/// `parent/prefix<version>/bin` by version, as numbers: 9 comes after 18.
fn newest_first(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut found: Vec<(Vec<u32>, PathBuf)> = std::fs::read_dir(parent)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let version = numbers(entry.file_name().to_str()?.strip_prefix(prefix)?)?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    found.sort_by(|left, right| right.cmp(left));
    found.into_iter().map(|(_, folder)| folder).collect()
}

fn numbers(version: &str) -> Option<Vec<u32>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    use super::Search;
    use crate::server::scratch::Scratch;

    fn write(file: &Path, text: &str) {
        let folder = file.parent().expect("a file has a folder");
        std::fs::create_dir_all(folder).expect("folder");
        std::fs::write(file, text).expect("file");
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).expect("mode");
    }

    fn installation(folder: &Path) -> PathBuf {
        for name in ["initdb", "postgres"] {
            write(&folder.join(name), "");
        }
        folder.canonicalize().expect("just made")
    }

    /// A machine with PostgreSQL in every place that is looked at.
    fn machine(root: &Path) -> (Search, Vec<PathBuf>) {
        let on_path = installation(&root.join("path"));
        let told = installation(&root.join("told"));
        write(&root.join("tools/pg_config"), &format!("#!/bin/sh\necho {}\n", told.display()));
        let newest = installation(&root.join("lib/18/bin"));
        let middle = installation(&root.join("lib/14/bin"));
        let oldest = installation(&root.join("lib/9.6/bin"));
        let brewed = installation(&root.join("opt/postgresql@17/bin"));
        let cached = installation(&root.join("cached"));
        let search = Search {
            named: None,
            path: vec![root.join("tools"), on_path.clone()],
            installed: vec![(root.join("lib"), String::new()), (root.join("opt"), "postgresql@".to_owned())],
            cached: vec![cached.clone()],
            hidden: false,
        };
        (search, vec![on_path, told, newest, middle, oldest, brewed, cached])
    }

    /// The order of the search: the path, `pg_config`, the distribution's folders with the newest version first,
    /// Homebrew, our cache.
    #[test]
    fn order_of_the_search() {
        let root = Scratch::within(&std::env::temp_dir(), "find").expect("scratch");
        let (search, expected) = machine(root.path());
        let found: Vec<_> = search.candidates().collect();
        assert_eq!(found, expected);
    }

    /// With `OUTBOX_PG_HIDE=1` only what we fetched ourselves is seen, and a folder asked for by name is not.
    #[test]
    fn hidden_leaves_our_cache() {
        let root = Scratch::within(&std::env::temp_dir(), "find").expect("scratch");
        let (mut search, expected) = machine(root.path());
        search.named = Some(root.path().join("path"));
        assert!(search.named().is_some());
        search.hidden = true;
        assert_eq!(search.named(), None);
        let found: Vec<_> = search.candidates().collect();
        assert_eq!(found, expected[expected.len() - 1..]);
    }

    /// A folder on the path with `initdb` but no `postgres` beside it is no installation.
    #[test]
    fn half_an_installation_is_passed_over() {
        let root = Scratch::within(&std::env::temp_dir(), "find").expect("scratch");
        write(&root.path().join("half/initdb"), "");
        let search = Search {
            named: None,
            path: vec![root.path().join("half")],
            installed: Vec::new(),
            cached: Vec::new(),
            hidden: false,
        };
        assert_eq!(search.candidates().count(), 0);
    }

    /// Links on the path lead to the installation that they point into.
    #[test]
    fn links_are_followed() {
        let root = Scratch::within(&std::env::temp_dir(), "find").expect("scratch");
        let real = installation(&root.path().join("real"));
        let linked = root.path().join("linked");
        std::fs::create_dir(&linked).expect("folder");
        for name in ["initdb", "postgres"] {
            symlink(real.join(name), linked.join(name)).expect("link");
        }
        let search =
            Search { named: None, path: vec![linked], installed: Vec::new(), cached: Vec::new(), hidden: false };
        assert_eq!(search.candidates().collect::<Vec<_>>(), [real]);
    }
}
