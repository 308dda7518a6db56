//! The worker role: runs every subscriber of the storefront until it is asked to end.
#![allow(clippy::print_stderr, reason = "a command-line program speaks by printing")]

use std::io::Read as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tracing_subscriber::EnvFilter;

/// Runs the storefront's subscribers on the database that `DATABASE_URL` names.
#[derive(Debug, Parser)]
struct Arguments {
    /// How the worker calls itself in the table `system.worker`.
    #[arg(long)]
    name: String,
    /// How long it keeps its jobs when it stops answering.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 10_000)]
    lease: u64,
    /// How many handlers run at once.
    #[arg(long, default_value_t = 8)]
    concurrency: u32,
    /// How long the mail provider takes to answer.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 5)]
    mail_latency: u64,
    /// End when the standard input does, so that this worker does not outlive who started it.
    #[arg(long)]
    until_input_ends: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .init();
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let url = std::env::var("DATABASE_URL").context("DATABASE_URL has to name the shop's database")?;
    // Each handler that takes the transaction holds a connection while it runs.
    let pool = connect(&url, arguments.concurrency + 2).await?;
    let postbox = connect(&url, 4).await?;
    let outbox = storefront_app::worker(pool, postbox, Duration::from_millis(arguments.mail_latency))
        .name(arguments.name)
        .lease(Duration::from_millis(arguments.lease))
        .concurrency(arguments.concurrency)
        .build()
        .await?;
    outbox.run(asked_to_end(arguments.until_input_ends)).await?;
    Ok(())
}

async fn connect(url: &str, most: u32) -> anyhow::Result<PgPool> {
    PgPoolOptions::new().max_connections(most).connect(url).await.context("the database does not answer")
}

async fn asked_to_end(until_input_ends: bool) {
    let (ended, input_ended) = tokio::sync::oneshot::channel::<()>();
    if until_input_ends {
        // A thread of its own: tokio's standard input would keep the program from ending before it.
        std::thread::spawn(move || {
            // Nothing is ever written; a read error is as good as an end.
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            drop(ended);
        });
        tokio::select! {
            () = outbox::shutdown_signal() => {}
            _ = input_ended => {}
        }
    } else {
        outbox::shutdown_signal().await;
    }
}
