//! `cargo xtask bench`: ours, the least SQL that does the same, and whoever else, in turns on one server.
//!
//! This program has two faces. The *conductor* starts the server, and for every cell of the measurement a *contestant*, a process of its
//! own, so that processor time and memory are that contestant's alone; between the two there is the protocol of [`protocol`].
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program speaks by printing")]

mod conductor;
mod contestant;
mod measure;
mod protocol;
mod stats;
mod targets;
mod works;

use std::process::ExitCode;

use clap::Parser;

/// Measures outbox against the least SQL that does the same.
#[derive(Debug, Parser)]
#[command(name = "outbox-bench")]
enum Face {
    /// Measures, and says which targets are met.
    #[command(override_usage = "cargo xtask bench [OPTIONS]")]
    Bench(conductor::Arguments),
    /// Does one work once, told when by its standard input.
    #[command(hide = true)]
    Contest(contestant::Arguments),
    /// Takes a job and holds it, to be killed.
    #[command(hide = true)]
    Hold(contestant::Holding),
    /// Fills the tables for a work.
    #[command(hide = true)]
    Seed(contestant::Seeding),
}

fn main() -> ExitCode {
    let face = Face::parse();
    if cfg!(debug_assertions) && matches!(&face, Face::Bench(arguments) if !arguments.quick) {
        eprintln!(
            "error: this build is not optimized, so its figures mean nothing: run `cargo xtask bench`, or build with `--release`"
        );
        return ExitCode::FAILURE;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let outcome = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
        runtime.block_on(async {
            match face {
                Face::Bench(arguments) => conductor::run(arguments).await,
                Face::Contest(arguments) => contestant::contest(arguments).await,
                Face::Hold(holding) => contestant::hold(holding).await,
                Face::Seed(seeding) => contestant::seed(seeding).await,
            }
        })
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
