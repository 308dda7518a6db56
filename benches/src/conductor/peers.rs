//! The peers of `benches/peers`: those of its list that can be built here take part.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::{Context as _, anyhow, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::sides::Side;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers");
const LIST: &str = include_str!("../../peers/peers.json");

/// One of the list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Peer {
    name: String,
    build: Build,
    /// By work and setting: how much of it is asked of one for which all of it would take hours.
    #[serde(default)]
    most: BTreeMap<String, BTreeMap<String, u64>>,
}

/// What it is built of.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Build {
    /// A package of the workspace there, with one program.
    Cargo(String),
    /// A script of the npm package there.
    Npm(String),
}

/// Builds them. Says of each that cannot take part why.
pub(super) fn build() -> anyhow::Result<Vec<Side>> {
    let peers: Vec<Peer> = serde_json::from_str(LIST).context("benches/peers/peers.json")?;
    let programs = cargo().map_err(|error| format!("{error:#}"));
    let node = node().map_err(|error| format!("{error:#}"));
    let mut sides = Vec::new();
    for Peer { name, build, most } in peers {
        let start = match &build {
            Build::Cargo(package) => programs.as_ref().map_err(Clone::clone).and_then(|programs| {
                let program = programs.get(package).cloned().ok_or_else(|| "it does not build, see above".to_owned());
                Ok((program?, None))
            }),
            Build::Npm(script) => {
                node.as_ref().map(|node| (node.clone(), Some(npm_folder().join(script)))).map_err(Clone::clone)
            }
        };
        match start {
            Ok((program, script)) => sides.push(Side { name, program, script, most, optional: true }),
            Err(why) => println!("{name} is left out: {why}"),
        }
    }
    Ok(sides)
}

/// Builds those of the workspace, at once, so that they share what they have in common; where each program is, by package.
fn cargo() -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--release", "--locked", "--workspace", "--keep-going"]);
    cargo.arg("--message-format=json-render-diagnostics").current_dir(FOLDER);
    eprintln!("building the peers that are crates");
    // One that does not build leaves the others.
    let output = cargo.stderr(Stdio::inherit()).output().context("start cargo")?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(program).collect())
}

/// Package and program of one of cargo's messages.
fn program(message: &str) -> Option<(String, PathBuf)> {
    let message: Value = serde_json::from_str(message).ok()?;
    let program = message["executable"].as_str()?;
    Some((message["target"]["name"].as_str()?.to_owned(), program.into()))
}

/// Installs what the npm package names, where that was not done since its lock file changed; the node that came with it.
fn node() -> anyhow::Result<PathBuf> {
    let folder = npm_folder();
    let (wanted, installed) =
        (changed(&folder.join("package-lock.json")), changed(&folder.join("node_modules/.package-lock.json")));
    if installed.is_none() || installed < wanted {
        eprintln!("installing the peers that are npm packages");
        let installed = Command::new("npm").arg("ci").current_dir(&folder).stdout(Stdio::null()).status();
        let status = installed.map_err(|error| anyhow!("npm is not there: {error}"))?;
        ensure!(status.success(), "`npm ci` failed, see above");
    }
    let node = folder.join("node_modules/node/bin/node");
    ensure!(node.exists(), "npm installed no node");
    Ok(node)
}

fn npm_folder() -> PathBuf {
    Path::new(FOLDER).join("node")
}

fn changed(file: &Path) -> Option<SystemTime> {
    file.metadata().and_then(|file| file.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::works::WORKS;

    #[test]
    fn the_list_names_each_peer_once_and_only_works_and_sizes_that_are_there() {
        let peers: Vec<Peer> = serde_json::from_str(LIST).unwrap();
        for (place, peer) in peers.iter().enumerate() {
            assert!(peers[..place].iter().all(|other| other.name != peer.name), "{}", peer.name);
            for (contest, most) in &peer.most {
                let sizes = || WORKS.iter().filter(|work| work.contest == contest).flat_map(|work| work.sizes);
                assert!(most.keys().all(|key| sizes().any(|(size, _)| size == key)), "{}: {contest}", peer.name);
            }
        }
    }

    #[test]
    fn what_the_list_names_is_in_the_folder() {
        let manifest = std::fs::read_to_string(Path::new(FOLDER).join("Cargo.toml")).unwrap();
        for peer in serde_json::from_str::<Vec<Peer>>(LIST).unwrap() {
            match peer.build {
                Build::Cargo(package) => {
                    let member = package.strip_prefix("peer-").unwrap();
                    assert!(manifest.contains(&format!("\"{member}\"")), "{package}");
                }
                Build::Npm(script) => assert!(npm_folder().join(&script).exists(), "{script}"),
            }
        }
    }

    #[test]
    fn a_program_is_found_in_what_cargo_says() {
        let built =
            r#"{"reason":"compiler-artifact","target":{"name":"peer-fang"},"executable":"/target/release/peer-fang"}"#;
        assert_eq!(program(built), Some(("peer-fang".to_owned(), "/target/release/peer-fang".into())));
        assert_eq!(program(r#"{"reason":"compiler-artifact","target":{"name":"anyhow"},"executable":null}"#), None);
        assert_eq!(program("warning: this is no message"), None);
    }
}
