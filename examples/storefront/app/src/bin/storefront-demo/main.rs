//! Order placed, end to end: two workers and the web role as real processes, one worker killed in the middle, and the proof
//! from the tables that nothing was lost and nothing happened twice.
//!
//! `cargo xtask demo` builds the three programs and runs this one.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program speaks by printing")]

mod arguments;
mod child;
mod database;
mod expected;
mod kill;
mod narrator;
mod play;
mod proof;
mod report;
mod tables;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Parser as _;
use outbox_testing::server::Server;

use crate::arguments::Arguments;
use crate::database::Database;
use crate::expected::Expected;
use crate::narrator::Narrator;
use crate::play::Play;
use crate::report::Report;

/// The exit code when the orders were refused: nothing was started.
const REFUSED: u8 = 2;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let narrator = Arc::new(Narrator::new(arguments.json));
    let expected = match arguments.expected(&narrator) {
        Ok(expected) => expected,
        Err(refused) => {
            eprintln!("error: {refused:#}");
            return ExitCode::from(REFUSED);
        }
    };
    match run(arguments, expected, &narrator) {
        Ok(report) if report.proven() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            narrator.warn(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments, expected: Expected, narrator: &Arc<Narrator>) -> anyhow::Result<Report> {
    let server = Server::obtain()?;
    narrator.say(&match server.version() {
        Some(version) => format!("PostgreSQL {version}, started for this run and thrown away behind it"),
        None => "the PostgreSQL that the environment names, in a database of this run's own".to_owned(),
    });
    let runtime = tokio::runtime::Runtime::new()?;
    let json = arguments.json;
    let report = runtime.block_on(on(&server, arguments, expected, narrator))?;
    if json {
        println!("{}", report.json()?);
    } else {
        narrator.say(&report.text());
    }
    Ok(report)
}

/// Plays on a database of its own, which is gone afterwards however the play ended.
async fn on(
    server: &Server,
    arguments: Arguments,
    expected: Expected,
    narrator: &Arc<Narrator>,
) -> anyhow::Result<Report> {
    let database = Database::create(server.url()).await?;
    let play = Play { arguments, expected, narrator: Arc::clone(narrator), url: database.url() };
    // A task, so that a panic in it is an error here; aborting it drops the children, which ends them.
    let mut playing = tokio::spawn(play.run());
    let outcome = tokio::select! {
        ended = &mut playing => ended.context("the demonstration broke off").and_then(|outcome| outcome),
        () = outbox::shutdown_signal() => {
            playing.abort();
            let _ = playing.await;
            Err(anyhow::anyhow!("interrupted"))
        }
    };
    database.drop().await?;
    outcome
}
