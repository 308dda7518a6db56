//! The server as a program.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program speaks by printing")]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use solopm::sample;
use solopm::server::{Server, Settings, migrate};
use solopm::webhooks::Reach;
use sqlx::postgres::PgPoolOptions;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// Serves SoloPM on the database that `DATABASE_URL` names.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where it listens.
    #[arg(long, env = "SOLOPM_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:3000")]
    listen: SocketAddr,
    /// The mail server.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:25")]
    mail: String,
    /// The folder of the search index; it has to be there.
    #[arg(long, value_name = "FOLDER")]
    index: PathBuf,
    /// Webhooks may go anywhere, also to this machine without TLS. For development.
    #[arg(long)]
    webhooks_anywhere: bool,
    /// Begin with a few people and a project, where there is nobody yet.
    #[arg(long)]
    sample: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let url = std::env::var("DATABASE_URL").context("DATABASE_URL has to name the database")?;
    let pool = PgPoolOptions::new().max_connections(24).connect(&url).await.context("the database does not answer")?;
    migrate(&pool).await?;
    let webhooks = if arguments.webhooks_anywhere { Reach::Anywhere } else { Reach::Public };
    let settings = Settings { listen: arguments.listen, mail: arguments.mail, index: arguments.index, webhooks };
    let server = Server::open(pool, &settings, |outbox| outbox).await?;
    if arguments.sample && sample::is_wanted(server.outbox()).await? {
        sample::write(server.outbox()).await?;
    }
    println!("http://{}", server.address()?);
    let shutdown = CancellationToken::new();
    let asked = shutdown.clone();
    tokio::spawn(async move {
        outbox::shutdown_signal().await;
        asked.cancel();
    });
    server.run(shutdown).await
}
