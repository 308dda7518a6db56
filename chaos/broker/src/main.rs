//! `cargo xtask chaos --broker nats|rabbitmq`: a seeded fault run of two services with a broker between them.
#![allow(clippy::print_stderr, reason = "a command-line program speaks by printing")]

use std::process::ExitCode;

use clap::Parser;
use outbox_chaos_broker::conductor;

/// Two services with a broker between them, while faults meet all of it; ends with 1 when a guarantee was broken, or the run did not come
/// to its end.
#[derive(Debug, Parser)]
#[command(name = "outbox-chaos-broker", override_usage = "cargo xtask chaos --broker <BROKER> [OPTIONS]")]
struct Program {
    #[command(flatten)]
    run: conductor::Arguments,
}

#[tokio::main]
async fn main() -> ExitCode {
    match conductor::run(Program::parse().run).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
