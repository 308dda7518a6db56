//! A fleet of two services and a broker, and everything that can happen to it: versions that change, a broker that is away, processes that
//! are killed, messages that nobody can take, rows that are damaged by hand. At the end the tables of both services are compared.
//!
//! `cargo xtask fleet` builds the three programs and runs this one. Ctrl-C ends it, and nothing of it stays.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program speaks by printing")]

mod acts;
mod arguments;
mod broker;
mod child;
mod database;
mod facts;
mod kill;
mod load;
mod narrator;
mod play;
mod proof;
mod report;
mod stage;
mod tables;
mod tree;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Parser as _;
use outbox_testing::server::Server;
use tokio::task::LocalSet;

use crate::arguments::Arguments;
use crate::database::Database;
use crate::narrator::Narrator;
use crate::report::Report;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let narrator = Arc::new(Narrator::new(arguments.json));
    match run(arguments, &narrator) {
        Ok(report) if report.proven() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments, narrator: &Arc<Narrator>) -> anyhow::Result<Report> {
    let server = Server::obtain()?;
    narrator.say(&match server.version() {
        Some(version) => format!("PostgreSQL {version}, started for this run and thrown away behind it"),
        None => "the PostgreSQL that the environment names, in databases of this run's own".to_owned(),
    });
    let runtime = tokio::runtime::Runtime::new()?;
    let json = arguments.json;
    let report = LocalSet::new().block_on(&runtime, on(&server, arguments, narrator))?;
    if json {
        println!("{}", report.json()?);
    } else {
        narrator.say(&report.text());
    }
    Ok(report)
}

/// Plays on two databases of its own, which are gone afterwards however the play ended.
async fn on(server: &Server, arguments: Arguments, narrator: &Arc<Narrator>) -> anyhow::Result<Report> {
    let policy = Database::create(server.url(), "policy").await?;
    let billing = Database::create(server.url(), "billing").await?;
    let play = play::run(arguments, Arc::clone(narrator), policy.url(), billing.url());
    // A task, so that a panic in it is an error here; aborting it drops the children and the broker, which ends them.
    let mut playing = tokio::task::spawn_local(play);
    let outcome = tokio::select! {
        ended = &mut playing => ended.context("the play broke off").and_then(|outcome| outcome),
        () = outbox::shutdown_signal() => {
            playing.abort();
            let _ = playing.await;
            Err(anyhow::anyhow!("interrupted"))
        }
    };
    policy.drop().await?;
    billing.drop().await?;
    outcome
}
