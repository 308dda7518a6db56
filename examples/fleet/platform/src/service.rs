//! How a service begins and ends.

use std::convert::Infallible;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use outbox::{Outbox, Supervisor};
use outbox_ingest::Ingest;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use crate::{Inbox, Release};

/// What every service is told at its start.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// The service's own database.
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub database: String,
    /// The broker: `nats://..` or `amqp://..`.
    #[arg(long, env = "BROKER_URL", value_name = "URL", hide_env_values = true)]
    pub broker: String,
    /// Which release of the service this is.
    #[arg(long, default_value_t = Release::Second)]
    pub release: Release,
    /// Write the spans of traced requests to this file, a line each.
    #[arg(long, value_name = "FILE")]
    pub spans: Option<PathBuf>,
    /// End when the standard input does, so that this service does not outlive who started it.
    #[arg(long)]
    pub until_input_ends: bool,
}

/// How long what a killed process held stays its own. The shortest there is: in the play it is killed.
pub const LEASE: Duration = Duration::from_secs(2);

/// The loops that every service has, beside its own: the worker, without which it is nothing, and the ingest, which is begun again.
pub fn loops(supervisor: Supervisor, outbox: &Outbox, ingest: Ingest<Inbox>) -> Supervisor {
    let (worker, into) = (outbox.clone(), outbox.clone());
    supervisor
        .essential("worker", move |stop| {
            let worker = worker.clone();
            async move { worker.run(async move { stop.cancelled().await }).await }
        })
        .background("ingest", move |stop| {
            let (ingest, into) = (ingest.clone(), into.clone());
            async move {
                ingest.run(&into, async move { stop.cancelled().await }).await;
                Ok::<_, Infallible>(())
            }
        })
}

/// The application's own connections.
///
/// # Errors
/// When the database does not answer.
pub async fn connect(database: &str) -> anyhow::Result<PgPool> {
    PgPoolOptions::new().max_connections(12).connect(database).await.context("the database does not answer")
}

/// Waits for the word to end: Ctrl-C, `SIGTERM`, or the end of the standard input where that was asked for.
pub async fn asked_to_end(until_input_ends: bool) {
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
