//! The message brokers that some tests start themselves: found on this machine, or installed by apt where we may, or asked for.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::artifacts::Artifact;

/// A broker's program, Debian's package of it, and whose tests start it.
#[derive(Debug, PartialEq)]
struct Broker {
    program: &'static str,
    package: &'static str,
    of: &'static str,
}

const BROKERS: [Broker; 2] = [
    Broker { program: "nats-server", package: "nats-server", of: "outbox-nats::nats" },
    Broker { program: "rabbitmq-server", package: "rabbitmq-server", of: "outbox-amqp::amqp" },
];

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
pub(super) fn obtain(artifacts: &[Artifact]) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(FOLDERS.iter().map(PathBuf::from)).collect();
    let missing = missing(artifacts, &folders);
    if missing.is_empty() {
        return;
    }
    let packages: Vec<_> = missing.iter().map(|broker| broker.package).collect();
    eprintln!("installing {} for the tests of {}", packages.join(" and "), tests_of(&missing));
    if let Err(why) = install(&packages) {
        let packages = packages.join(" ");
        eprintln!("could not install {packages}: {why}. Install them, or put their programs on the PATH.");
    }
}

fn missing(artifacts: &[Artifact], folders: &[PathBuf]) -> Vec<&'static Broker> {
    let is_wanted = |broker: &Broker| artifacts.iter().any(|artifact| artifact.id == broker.of);
    let is_there = |broker: &Broker| folders.iter().any(|folder| folder.join(broker.program).is_file());
    BROKERS.iter().filter(|broker| is_wanted(broker) && !is_there(broker)).collect()
}

fn tests_of(brokers: &[&Broker]) -> String {
    brokers.iter().map(|broker| broker.of).collect::<Vec<_>>().join(" and ")
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
        let names = |missing: Vec<&Broker>| missing.iter().map(|broker| broker.program).collect::<Vec<_>>();
        assert_eq!(names(missing(&all, &nowhere)), ["nats-server", "rabbitmq-server"]);
        assert_eq!(names(missing(&all[..1], &nowhere)), ["nats-server"]);
        assert!(missing(&all[2..], &nowhere).is_empty());
        let folder = tempfile::TempDir::new().expect("a folder");
        std::fs::write(folder.path().join("nats-server"), "").expect("a file");
        assert_eq!(names(missing(&all, &[folder.path().to_owned()])), ["rabbitmq-server"]);
    }
}
