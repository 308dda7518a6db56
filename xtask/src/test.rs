//! `cargo xtask test`: all tests against one PostgreSQL, with one sum at the end.

mod libtest;
pub(crate) mod run;
mod stream;
mod summary;

use std::error::Error;
use std::process::{Command, ExitCode};

use outbox_testing::server::{Server, URL_VARIABLES};

use crate::artifacts;
use crate::workspace::cargo;
use crate::{Outcome, child};
use run::Run;

/// Runs the tests; `arguments` go to `cargo test`.
pub(crate) fn command(arguments: &[String]) -> Outcome {
    run_all(arguments)
}

/// Runs the tests, prints their sum and writes the results down for `cargo xtask proofs`.
pub(crate) fn run_all(arguments: &[String]) -> Outcome {
    // Built first, so that no server waits for a compiler and each result can be traced to its source file.
    let mut build = cargo_test(&["--no-run", "--message-format=json-render-diagnostics"], arguments);
    let Some(artifacts) = artifacts::build(&mut build)? else {
        return Err("the tests do not build, so none was run".into());
    };
    let server = server()?;
    let mut tests = cargo_test(&[], arguments);
    tests.env(URL_VARIABLES[0], server.url());
    let (status, sections) = stream::run(&mut tests, &artifacts)?;
    drop(server);
    let run = Run::new(sections);
    run.write()?;
    summary::print(&run);
    Ok(if status.success() && run.totals().failed > 0 { ExitCode::FAILURE } else { child::exit_code(status) })
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
