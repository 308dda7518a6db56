//! `cargo xtask test --browser`: the tests in real browsers, and the browser for them.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::run_tests;
use crate::{Outcome, child};

/// The driver's name on the search path, and the names that the browser goes by.
const DRIVER: [&str; 1] = ["chromedriver"];
const BROWSER: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// What Debian calls them. The font is for machines that have none, whose pictures would show boxes.
const PACKAGES: [&str; 3] = ["chromium", "chromium-driver", "fonts-dejavu-core"];
/// The variables that name them, for us and for the tests.
const VARIABLES: [&str; 2] = ["CHROMEDRIVER", "CHROMIUM"];

/// Runs the tests in browsers; other arguments go to `cargo test`.
pub(super) fn command(arguments: Vec<String>) -> Outcome {
    let [driver, browser] = obtain()?;
    // With the features of the whole workspace, so that nothing is built twice that `cargo xtask test` has built.
    let mut all: Vec<String> = ["--features", "solopm/browser", "--test", "browser"].map(str::to_owned).into();
    all.extend(arguments);
    let environment = [(VARIABLES[0], driver), (VARIABLES[1], browser)];
    let (status, run) = run_tests(&all, &environment)?;
    Ok(if status.success() && run.totals().failed > 0 { ExitCode::FAILURE } else { child::exit_code(status) })
}

/// Driver and browser, found or installed.
fn obtain() -> Result<[PathBuf; 2], Box<dyn Error>> {
    if let Some(both) = find() {
        return Ok(both);
    }
    if may_install() {
        eprintln!("Installing {} ..", PACKAGES.join(", "));
        apt(&["update"])?;
        apt(&[&["install", "--yes", "--no-install-recommends"][..], &PACKAGES].concat())?;
    }
    find().ok_or_else(|| {
        format!(
            "no Chromium with its driver: install both (Debian: apt-get install {}), or name them by {} and {}",
            PACKAGES.join(" "),
            VARIABLES[0],
            VARIABLES[1]
        )
        .into()
    })
}

fn find() -> Option<[PathBuf; 2]> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    let named = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
    let driver = named(VARIABLES[0]).or_else(|| on(&folders, &DRIVER))?;
    Some([driver, named(VARIABLES[1]).or_else(|| on(&folders, &BROWSER))?])
}

/// The first of these programs that lies in one of these folders, by the order of the names.
fn on(folders: &[PathBuf], names: &[&str]) -> Option<PathBuf> {
    let in_folder = |name: &&str| folders.iter().map(|folder| folder.join(name)).find(|program| program.is_file());
    names.iter().find_map(in_folder)
}

/// As root where apt is: elsewhere a person decides what is installed.
fn may_install() -> bool {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    is_root && Path::new("/usr/bin/apt-get").is_file()
}

fn apt(arguments: &[&str]) -> Result<(), Box<dyn Error>> {
    let mut apt = Command::new("apt-get");
    let status = apt.env("DEBIAN_FRONTEND", "noninteractive").arg("-qq").args(arguments).status()?;
    if status.success() { Ok(()) } else { Err(format!("`apt-get {}` did not work", arguments.join(" ")).into()) }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::on;

    /// A name that stands further ahead wins, wherever it lies, and what is not there is not found.
    #[test]
    fn programs_are_found_by_the_order_of_their_names() {
        let folders = [PathBuf::from("/nowhere"), PathBuf::from(env!("CARGO_MANIFEST_DIR"))];
        assert_eq!(on(&folders, &["missing", "Cargo.toml"]), Some(folders[1].join("Cargo.toml")));
        assert_eq!(on(&folders, &["missing"]), None);
    }
}
