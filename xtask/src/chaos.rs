//! `cargo xtask chaos`: a seeded fault run with a history checker.

use std::process::Command;

use crate::arguments::take_flag;
use crate::child::{Running, exit_code};
use crate::workspace::cargo;
use crate::{Outcome, artifacts};

/// Runs it; its exit code is ours, 1 when a guarantee was broken.
pub(crate) fn command(mut arguments: Vec<String>) -> Outcome {
    let mut build = cargo("build");
    if take_flag(&mut arguments, "--release") {
        build.arg("--release");
    }
    build.args(["-p", "outbox-chaos", "--message-format=json-render-diagnostics"]);
    let artifacts = artifacts::build(&mut build)?.ok_or("the fault run does not build")?;
    let program = artifacts.into_iter().find(|artifact| artifact.id == "outbox-chaos::bin/outbox-chaos");
    let program = program.ok_or("cargo built no `outbox-chaos`")?.executable;
    Ok(exit_code(Running::start(Command::new(program).arg("run").args(arguments))?.wait()?))
}
