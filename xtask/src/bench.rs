//! `cargo xtask bench`: what is measured against the least SQL that does the same.

use std::process::Command;

use crate::arguments::take_flag;
use crate::child::{Running, exit_code};
use crate::workspace::cargo;
use crate::{Outcome, artifacts};

/// Builds it, optimized, and runs it; its exit code is ours. With `--relay` it is that of the relay, which has a program of its own.
pub(crate) fn command(mut arguments: Vec<String>) -> Outcome {
    let of_relay = take_flag(&mut arguments, "--relay");
    let package = if of_relay { "outbox-bench-relay" } else { "outbox-bench" };
    let mut build = cargo("build");
    build.args(["--release", "-p", package, "--message-format=json-render-diagnostics"]);
    let artifacts = artifacts::build(&mut build)?.ok_or("the bench does not build")?;
    let program = artifacts.into_iter().find(|artifact| artifact.id == format!("{package}::bin/{package}"));
    let program = program.ok_or_else(|| format!("cargo built no `{package}`"))?.executable;
    let mut bench = Command::new(program);
    if !of_relay {
        bench.arg("bench");
    }
    Ok(exit_code(Running::start(bench.args(arguments))?.wait()?))
}
