//! `cargo xtask bench --relay`: events of a durable PostgreSQL through the relay to a broker, beside the same client that publishes the same
//! messages with confirms from memory, in turns in one run.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program speaks by printing")]

mod database;
mod messages;
mod nats;
mod rabbit;
mod relayed;
mod report;
mod side;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, ValueEnum};

use crate::database::Database;
use crate::nats::NatsSide;
use crate::rabbit::RabbitSide;
use crate::report::{Report, Round};
use crate::side::Side;

/// Measures the relay against the same client publishing with confirms from memory.
#[derive(Debug, Parser)]
#[command(name = "outbox-bench-relay", override_usage = "cargo xtask bench --relay [OPTIONS]")]
struct Arguments {
    /// Only this broker.
    #[arg(long)]
    broker: Option<Broker>,
    /// Rounds, in each of which both sides have their turn.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Messages of each turn.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    events: u32,
    /// A few messages and one round: to see that everything runs. Its figures mean nothing.
    #[arg(long)]
    quick: bool,
    /// Write every round to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Broker {
    Nats,
    Rabbitmq,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if cfg!(debug_assertions) && !arguments.quick {
        eprintln!(
            "error: this build is not optimized, so its figures mean nothing: run `cargo xtask bench --relay`, or build with `--release`"
        );
        return ExitCode::FAILURE;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match runtime.map_err(anyhow::Error::from).and_then(|runtime| runtime.block_on(run(arguments))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let (rounds, events) = if arguments.quick { (1, 500) } else { (arguments.rounds, arguments.events) };
    let database = Database::start().await?;
    println!("{}; {rounds} rounds of {events} messages", database.describe());
    let mut report = Report::new(database.describe(), events);
    let is_asked_for = |broker| arguments.broker.is_none_or(|only| only == broker);
    if is_asked_for(Broker::Nats) {
        measure(&database, &NatsSide::start().await, rounds, events, &mut report).await?;
    }
    if is_asked_for(Broker::Rabbitmq) {
        measure(&database, &RabbitSide::start().await, rounds, events, &mut report).await?;
    }
    if let Some(file) = &arguments.json {
        let text = serde_json::to_string_pretty(&report)? + "\n";
        std::fs::write(file, text).with_context(|| format!("write {}", file.display()))?;
    }
    Ok(())
}

/// All rounds with one broker; which side is first changes with each.
async fn measure(
    database: &Database,
    side: &impl Side,
    rounds: u32,
    events: u32,
    report: &mut Report,
) -> anyhow::Result<()> {
    for number in 0..rounds {
        let (memory, relay);
        if number % 2 == 0 {
            memory = from_memory(side, events).await?;
            relay = relayed::measure(database, side, events).await?;
        } else {
            relay = relayed::measure(database, side, events).await?;
            memory = from_memory(side, events).await?;
        }
        report.add(Round::of(side.broker(), events, memory, relay));
    }
    report.print(side.broker());
    Ok(())
}

/// Seconds from the first message to the last confirm.
async fn from_memory(side: &impl Side, events: u32) -> anyhow::Result<f64> {
    let messages = messages::made(events);
    side.renew().await?;
    let seconds = side.publish_from_memory(messages).await?;
    side.until_stored(events).await?;
    Ok(seconds)
}
