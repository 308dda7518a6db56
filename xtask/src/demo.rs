//! `cargo xtask demo`: the storefront example.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child::{Running, exit_code};
use crate::workspace::cargo;
use crate::{Outcome, arguments, artifacts};

/// The packages of its programs: the demo starts the others, which lie beside it.
const PACKAGES: [&str; 4] = ["-p", "storefront-app", "-p", "storefront-web"];

/// Runs the example; its exit code is ours.
pub(crate) fn command(mut arguments: Vec<String>) -> Outcome {
    resolve(&mut arguments, "--orders", &std::env::current_dir()?)?;
    let mut run = Command::new(build()?);
    Ok(exit_code(Running::start(run.args(arguments))?.wait()?))
}

/// Builds all programs of the example, and answers which one to run.
pub(crate) fn build() -> Result<PathBuf, Box<dyn Error>> {
    let mut build = cargo("build");
    build.args(PACKAGES).arg("--message-format=json-render-diagnostics");
    let artifacts = artifacts::build(&mut build)?.ok_or("the demo does not build")?;
    let program = artifacts.into_iter().find(|artifact| artifact.id.ends_with("bin/storefront-demo"));
    Ok(program.ok_or("cargo built no `storefront-demo`")?.executable)
}

/// A path is given from where the user stands, whatever folder the example runs in.
fn resolve(all: &mut Vec<String>, name: &str, folder: &Path) -> Result<(), String> {
    if let Some(path) = arguments::take_value(all, name)? {
        all.extend([name.to_owned(), folder.join(path).display().to_string()]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::resolve;

    fn resolved(line: &str) -> String {
        let mut arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        resolve(&mut arguments, "--orders", Path::new("/here")).expect("a value");
        arguments.join(" ")
    }

    /// A relative path is taken from the user's folder, an absolute one stays, and other arguments are passed on.
    #[test]
    fn paths_are_the_users() {
        assert_eq!(resolved("--orders my.csv --json"), "--json --orders /here/my.csv");
        assert_eq!(resolved("--orders=/there/my.csv"), "--orders /there/my.csv");
        assert_eq!(resolved("--json"), "--json");
    }
}
