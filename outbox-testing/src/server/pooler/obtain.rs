//! Debian's newest package of PgBouncer, unpacked into the cache with the libraries that it needs.
//!
//! Nothing is installed, so no root is needed, and no daemon of the package's own starts. With its own C library it runs on an
//! older release too, whose own package is too old to be of use.

use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::server::bounded;
use crate::server::cache::Cache;
use crate::server::scratch::open_to_all;

/// The lists are 10 MB and the packages 7 MB; longer than this is a network that does not answer.
const FETCH_LIMIT: Duration = Duration::from_mins(3);

/// The release that the packages are of. Also the name in the cache.
const RELEASE: &str = "trixie";

/// The program, and the libraries that it and they name; `ld.so --list` shows them.
const PACKAGES: [&str; 12] = [
    "pgbouncer",
    "libaudit1",
    "libc6",
    "libcap-ng0",
    "libcap2",
    "libcares2",
    "libevent-2.1-7t64",
    "libpam0g",
    "libssl3t64",
    "libsystemd0",
    "libzstd1",
    "zlib1g",
];

/// What signs Debian's packages, on a system that may not be Debian.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Where the program of an earlier fetch is.
pub(super) fn place(cache: &Cache) -> PathBuf {
    cache.place(&name()).join("pgbouncer")
}

fn name() -> String {
    format!("pgbouncer-{RELEASE}-{}", std::env::consts::ARCH)
}

/// Fetches and unpacks it, and says where its program is.
pub(super) fn fetch(cache: &Cache) -> Result<PathBuf, String> {
    let staging = cache.staging().map_err(|error| error.to_string())?;
    let archive = archive()?;
    let lists = staging.path().join("lists");
    let packages = staging.path().join("packages");
    let unpacked = staging.path().join("unpacked");
    for folder in [&lists.join("partial"), &packages, &unpacked] {
        DirBuilder::new().recursive(true).create(folder).map_err(|error| error.to_string())?;
    }
    let sources = staging.path().join("sources.list");
    std::fs::write(&sources, source_line(&archive)).map_err(|error| error.to_string())?;
    let apt = || apt(staging.path(), &sources, &lists);
    bounded::run(apt().arg("update"), FETCH_LIMIT)?;
    let wanted = PACKAGES.map(|package| format!("{package}/{RELEASE}"));
    bounded::run(apt().arg("download").args(wanted).current_dir(&packages), FETCH_LIMIT)?;
    for package in entries(&packages)? {
        bounded::run(Command::new("dpkg-deb").arg("-x").arg(package).arg(&unpacked), FETCH_LIMIT)?;
    }
    write_starter(&unpacked)?;
    open_to_all(&unpacked).and_then(|()| cache.keep(&unpacked, &name())).map_err(|error| error.to_string())?;
    Ok(place(cache))
}

/// Where this machine's own apt gets Debian's packages from.
fn archive() -> Result<String, String> {
    let mut ask = Command::new("apt-get");
    ask.args(["indextargets", "--format", "$(REPO_URI) $(COMPONENT)", "Created-By: Packages"]);
    let targets = bounded::run(&mut ask, Duration::from_secs(20))?;
    debian_of(&targets).map(str::to_owned).ok_or_else(|| "no source of Debian's own packages is known to it".to_owned())
}

/// The first archive of Debian itself among lines of `URI COMPONENT`.
fn debian_of(targets: &str) -> Option<&str> {
    let mut main = targets.lines().filter_map(|line| line.strip_suffix(" main"));
    main.find(|uri| uri.trim_end_matches('/').ends_with("/debian"))
}

fn source_line(archive: &str) -> String {
    let signed = if Path::new(KEYS).exists() { format!("[signed-by={KEYS}] ") } else { String::new() };
    format!("deb {signed}{archive} {RELEASE} main\n")
}

/// An apt that knows the packages of that release alone, and leaves the system's lists as they are.
fn apt(staging: &Path, sources: &Path, lists: &Path) -> Command {
    let mut apt = Command::new("apt-get");
    let settings = [
        ("Dir::Etc::SourceList", sources.display().to_string()),
        ("Dir::Etc::SourceParts", "-".to_owned()),
        ("Dir::Etc::Preferences", "-".to_owned()),
        ("Dir::Etc::PreferencesParts", "-".to_owned()),
        ("Dir::State::Lists", lists.display().to_string()),
        ("Dir::Cache", staging.display().to_string()),
        ("Acquire::Languages", "none".to_owned()),
        ("Acquire::Retries", "2".to_owned()),
        // Its own account cannot write into a folder that is ours alone.
        ("APT::Sandbox::User", "root".to_owned()),
    ];
    apt.arg("-q");
    for (name, value) in settings {
        apt.arg("-o").arg(format!("{name}={value}"));
    }
    for contents in ["DEP-11", "DEP-11-icons-small", "DEP-11-icons", "Contents-deb", "CNF"] {
        apt.arg("-o").arg(format!("Acquire::IndexTargets::deb::{contents}::DefaultEnabled=false"));
    }
    apt
}

/// A script that starts the program with its own loader and its own libraries, from wherever the folder is.
fn write_starter(unpacked: &Path) -> Result<(), String> {
    let libraries = entries(&unpacked.join("usr/lib"))?
        .into_iter()
        .find(|folder| folder.is_dir() && folder.to_string_lossy().contains("-linux-gnu"))
        .ok_or("the packages hold no libraries")?;
    let loader = entries(&libraries)?
        .into_iter()
        .chain(entries(&unpacked.join("usr/lib"))?)
        .find(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-linux")))
        .ok_or("the packages hold no loader")?;
    let inside = |path: &Path| path.strip_prefix(unpacked).unwrap_or(path).display().to_string();
    let script = format!(
        "#!/bin/sh\nhere=${{0%/*}}\nexec \"$here/{}\" --library-path \"$here/{}\" \"$here/usr/sbin/pgbouncer\" \"$@\"\n",
        inside(&loader),
        inside(&libraries)
    );
    let starter = unpacked.join("pgbouncer");
    std::fs::write(&starter, script)
        .and_then(|()| std::fs::set_permissions(&starter, Permissions::from_mode(0o755)))
        .map_err(|error| error.to_string())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let listed = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::debian_of;

    /// The archive is the one that this machine's apt uses for Debian itself, not its security updates and not a third party's.
    #[test]
    fn the_archive_is_debians_own() {
        let targets = "https://example.org/tools main\nhttp://mirror.example.org/debian-security/ main\n\
                       http://mirror.example.org/debian/ contrib\nhttp://mirror.example.org/debian/ main\n";
        assert_eq!(debian_of(targets), Some("http://mirror.example.org/debian/"));
        assert_eq!(debian_of("http://example.org/ubuntu/ main\n"), None);
    }
}
