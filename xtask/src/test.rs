//! `cargo xtask test`: all tests against one PostgreSQL, with one sum at the end.

mod browser;
mod libtest;
mod matrix;
pub(crate) mod run;
mod stream;
mod summary;

use std::error::Error;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};

use outbox_testing::server::{Server, URL_VARIABLES};

use crate::arguments::take_flag;
use crate::artifacts::{self, Artifact};
use crate::workspace::cargo;
use crate::{Outcome, brokers, child};
use run::Run;

/// Runs the tests; arguments that are not ours go to `cargo test`.
pub(crate) fn command(mut arguments: Vec<String>) -> Outcome {
    if take_flag(&mut arguments, "--matrix") {
        return matrix::command(arguments);
    }
    if take_flag(&mut arguments, "--browser") { browser::command(arguments) } else { run_all(&arguments) }
}

/// Runs the tests, prints their sum and writes the results down for `cargo xtask proofs`.
pub(crate) fn run_all(arguments: &[String]) -> Outcome {
    let (status, run) = run_tests(arguments, &[])?;
    run.write()?;
    Ok(if status.success() && run.totals().failed > 0 { ExitCode::FAILURE } else { child::exit_code(status) })
}

/// Runs the tests and prints their sum.
fn run_tests(arguments: &[String], environment: &[(&str, PathBuf)]) -> Result<(ExitStatus, Run), Box<dyn Error>> {
    let artifacts = build(arguments)?;
    brokers::obtain_for(&artifacts);
    let server = server()?;
    let mut tests = cargo_test(&[], arguments);
    tests.env(URL_VARIABLES[0], server.url()).envs(environment.iter().map(|(name, value)| (name, value)));
    let (status, sections) = stream::run(&mut tests, &artifacts)?;
    drop(server);
    let run = Run::new(sections);
    summary::print(&run);
    Ok((status, run))
}

/// First of all, so that no server waits for a compiler and each result can be traced to its source file.
fn build(arguments: &[String]) -> Result<Vec<Artifact>, Box<dyn Error>> {
    let mut build = cargo_test(&["--no-run", "--message-format=json-render-diagnostics"], arguments);
    artifacts::build(&mut build)?.ok_or_else(|| "the tests do not build, so none was run".into())
}

fn server() -> Result<Server, Box<dyn Error>> {
    let server = Server::obtain()?;
    match server.version() {
        Some(version) => eprintln!("PostgreSQL {version} at {}", server.url()),
        None => eprintln!("PostgreSQL as given by the environment"),
    }
    Ok(server)
}

/// Options of ours come first: what follows `--` is for the test programs.
fn cargo_test(ours: &[&str], arguments: &[String]) -> Command {
    let mut command = cargo("test");
    // `--workspace` would win over the packages that the user wants.
    if !arguments.iter().any(|argument| argument.starts_with("-p") || argument.starts_with("--package")) {
        command.arg("--workspace");
    }
    command.arg("--no-fail-fast").args(ours).args(arguments);
    command
}
