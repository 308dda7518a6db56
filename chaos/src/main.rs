//! `cargo xtask chaos`: a seeded fault run. Its other roles are the processes that it starts.
#![allow(clippy::print_stderr, reason = "a command-line program speaks by printing")]

use std::process::ExitCode;

use clap::Parser;
use outbox_chaos::{conductor, node};

/// A seeded fault run of outbox, with a checker.
#[derive(Debug, Parser)]
#[command(name = "outbox-chaos")]
enum Role {
    /// Runs, checks, and says what was found; ends with 1 when a guarantee was broken, or the run did not come to its end.
    #[command(override_usage = "cargo xtask chaos [--release] [OPTIONS]", after_help = RELEASE)]
    Run(conductor::Arguments),
    /// A worker of a run.
    #[command(hide = true)]
    Worker(node::Node),
    /// A publisher of a run.
    #[command(hide = true)]
    Publisher {
        #[command(flatten)]
        node: node::Node,
        /// Transactions a second.
        #[arg(long)]
        rate: f64,
    },
}

/// Of the command that builds us.
const RELEASE: &str = "`--release` runs programs that are optimized.";

fn main() -> ExitCode {
    let role = Role::parse();
    // A handler that blocks its thread is to block that one alone, on a small machine too.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
    let outcome = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
        runtime.block_on(async {
            match role {
                Role::Run(arguments) => conductor::run(arguments).await,
                Role::Worker(node) => node::work(node).await.map(|()| true),
                Role::Publisher { node, rate } => node::publish(node, rate).await.map(|()| true),
            }
        })
    });
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
