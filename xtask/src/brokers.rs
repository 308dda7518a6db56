//! The message brokers that some programs start themselves: found on this machine, or installed by apt where we may, or asked for.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::artifacts::Artifact;

/// A broker's program, Debian's package of it, and which tests start it.
#[derive(Debug, PartialEq)]
pub(crate) struct Broker {
    program: &'static str,
    package: &'static str,
    of: &'static [&'static str],
}

/// NATS with JetStream.
pub(crate) const NATS: Broker =
    Broker { program: "nats-server", package: "nats-server", of: &["outbox-nats::nats", "fleet-app::fleet"] };
/// RabbitMQ.
pub(crate) const RABBITMQ: Broker =
    Broker { program: "rabbitmq-server", package: "rabbitmq-server", of: &["outbox-amqp::amqp"] };
const BROKERS: [&Broker; 2] = [&NATS, &RABBITMQ];

/// Where servers are, beside the folders of `PATH`: where the tests look.
const FOLDERS: [&str; 6] = [
    "/usr/sbin",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/lib/rabbitmq/bin",
    "/opt/homebrew/sbin",
    "/opt/homebrew/bin",
];

/// Sees to the brokers of the tests that were built. What cannot be had is said here; its tests then fail, each with the same words.
pub(crate) fn obtain_for(artifacts: &[Artifact]) {
    // Said already.
    let _ = obtain(&wanted(artifacts));
}

/// Sees to these brokers; says it, and what is to be done, when one cannot be had.
pub(crate) fn obtain(brokers: &[&Broker]) -> Result<(), String> {
    let missing = missing(brokers, &folders());
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<_> = missing.iter().map(|broker| broker.package).collect();
    eprintln!("installing {}", packages.join(" and "));
    install(&packages).map_err(|why| {
        let packages = packages.join(" ");
        let said = format!("could not install {packages}: {why}. Install them, or put their programs on the PATH.");
        eprintln!("{said}");
        said
    })
}

fn folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(FOLDERS.iter().map(PathBuf::from)).collect()
}

fn wanted(artifacts: &[Artifact]) -> Vec<&'static Broker> {
    let is_wanted = |broker: &Broker| artifacts.iter().any(|artifact| broker.of.contains(&artifact.id.as_str()));
    BROKERS.into_iter().filter(|broker| is_wanted(broker)).collect()
}

fn missing<'b>(brokers: &[&'b Broker], folders: &[PathBuf]) -> Vec<&'b Broker> {
    let is_there = |broker: &Broker| folders.iter().any(|folder| folder.join(broker.program).is_file());
    brokers.iter().copied().filter(|broker| !is_there(broker)).collect()
}

fn install(packages: &[&str]) -> Result<(), String> {
    if !Path::new("/etc/debian_version").exists() {
        return Err("this is no Debian".to_owned());
    }
    if !rustix::process::geteuid().is_root() {
        return Err("only root may install packages".to_owned());
    }
    apt(&["update", "-qq"])?;
    apt(&[&["install", "-y", "-qq", "--no-install-recommends"], packages].concat())
}

fn apt(arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null()).stdout(Stdio::null());
    // The tests start servers of their own: Debian's services need not run. (Its init scripts ask for the runlevel.)
    command.env("RUNLEVEL", "1");
    let status = command.status().map_err(|error| format!("`apt-get` could not be run: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`apt-get {}` failed ({status})", arguments.join(" "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(id: &str) -> Artifact {
        Artifact { id: id.to_owned(), root: PathBuf::new(), executable: PathBuf::new() }
    }

    /// A broker is installed for the tests that start it, and where it is not there already.
    #[test]
    fn brokers_are_wanted_by_their_own_tests() {
        let nowhere = [PathBuf::from("/nonexistent")];
        let all = [built("outbox-nats::nats"), built("outbox-amqp::amqp"), built("outbox::engine")];
        let missing_of = |artifacts: &[Artifact], folders: &[PathBuf]| {
            missing(&wanted(artifacts), folders).iter().map(|broker| broker.program).collect::<Vec<_>>()
        };
        assert_eq!(missing_of(&all, &nowhere), ["nats-server", "rabbitmq-server"]);
        assert_eq!(missing_of(&all[..1], &nowhere), ["nats-server"]);
        assert!(missing_of(&all[2..], &nowhere).is_empty());
        assert_eq!(missing_of(&[built("fleet-app::fleet")], &nowhere), ["nats-server"]);
        let folder = tempfile::TempDir::new().expect("a folder");
        std::fs::write(folder.path().join("nats-server"), "").expect("a file");
        assert_eq!(missing_of(&all, &[folder.path().to_owned()]), ["rabbitmq-server"]);
    }
}
