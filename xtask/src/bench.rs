//! `cargo xtask bench`: what is measured against the least SQL that does the same.

use std::process::Command;

use crate::child::{Running, exit_code};
use crate::workspace::cargo;
use crate::{Outcome, artifacts};

/// Builds it, optimized, and runs it; its exit code is ours.
pub(crate) fn command(arguments: &[String]) -> Outcome {
    let mut build = cargo("build");
    build.args(["--release", "-p", "outbox-bench", "--message-format=json-render-diagnostics"]);
    let artifacts = artifacts::build(&mut build)?.ok_or("the bench does not build")?;
    let program = artifacts.into_iter().find(|artifact| artifact.id == "outbox-bench::bin/outbox-bench");
    let program = program.ok_or("cargo built no `outbox-bench`")?.executable;
    Ok(exit_code(Running::start(Command::new(program).arg("bench").args(arguments))?.wait()?))
}
