//! `cargo xtask chaos`: a seeded fault run with a history checker.

use std::process::Command;

use crate::arguments::take_flag;
use crate::child::{Running, exit_code};
use crate::workspace::cargo;
use crate::{Outcome, artifacts};

/// Runs it; its exit code is ours, 1 when a guarantee was broken. With `--broker` it is that of two services, which has programs of its own.
pub(crate) fn command(mut arguments: Vec<String>) -> Outcome {
    let mut build = cargo("build");
    if take_flag(&mut arguments, "--release") {
        build.arg("--release");
    }
    let has_broker = arguments.iter().any(|argument| argument == "--broker" || argument.starts_with("--broker="));
    let package = if has_broker { "outbox-chaos-broker" } else { "outbox-chaos" };
    build.args(["-p", package, "--message-format=json-render-diagnostics"]);
    let artifacts = artifacts::build(&mut build)?.ok_or("the fault run does not build")?;
    let program = artifacts.into_iter().find(|artifact| artifact.id == format!("{package}::bin/{package}"));
    let program = program.ok_or_else(|| format!("cargo built no `{package}`"))?.executable;
    let mut run = Command::new(program);
    if !has_broker {
        run.arg("run");
    }
    Ok(exit_code(Running::start(run.args(arguments))?.wait()?))
}
