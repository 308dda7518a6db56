//! `cargo xtask solopm`: the SoloPM example, with everything that it needs.

use std::error::Error;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use crate::workspace::cargo;
use crate::{Outcome, artifacts};

/// Becomes the example, which runs until Ctrl-C: the terminal is its own then, and free when everything has ended.
pub(crate) fn command(arguments: &[String]) -> Outcome {
    Err(Command::new(build()?).args(arguments).exec().into())
}

/// Builds the example, and answers which program to run.
fn build() -> Result<PathBuf, Box<dyn Error>> {
    let mut build = cargo("build");
    build.args(["-p", "solopm", "--message-format=json-render-diagnostics"]);
    let artifacts = artifacts::build(&mut build)?.ok_or("the example does not build")?;
    let program = artifacts.into_iter().find(|artifact| artifact.id.ends_with("bin/solopm-demo"));
    Ok(program.ok_or("cargo built no `solopm-demo`")?.executable)
}
