//! The policy service as a program, and what its operator does.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program speaks by printing")]

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use outbox::{Outbox, Supervisor};
use platform::{Common, Release};
use tokio::net::TcpListener;

/// The policy service.
#[derive(Debug, Parser)]
struct Program {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Take commands, and tell the others what came of them.
    Serve(Serve),
    /// Send facts once more, under their own ids: the last ones that were sent.
    Resend(Resend),
}

#[derive(Debug, Args)]
struct Serve {
    #[command(flatten)]
    common: Common,
    /// Where commands are taken.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3001")]
    listen: SocketAddr,
}

#[derive(Debug, Args)]
struct Resend {
    /// The service's own database.
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    database: String,
    /// How many.
    #[arg(long, default_value_t = 20)]
    last: i64,
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Program::parse().what {
        What::Serve(serve) => serve.run().await,
        What::Resend(resend) => resend.run().await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Serve {
    async fn run(self) -> anyhow::Result<()> {
        let Common { database, broker, release, spans, until_input_ends } = self.common;
        platform::trace::init("policy", spans.as_deref())?;
        let pool = platform::connect(&database).await?;
        policy::migrate(&pool).await.map_err(anyhow::Error::from_boxed)?;
        let relay = platform::relay(&broker, "policy").await?;
        let outbox = policy::outbox(pool, release, relay).lease(platform::LEASE).build().await?;
        let router = policy::router(outbox.clone(), release);
        let supervisor = Supervisor::new().essential("http", move |stop| {
            let router = router.clone();
            async move {
                let listener = TcpListener::bind(self.listen).await?;
                policy::serve(listener, router, async move { stop.cancelled().await }).await
            }
        });
        let ingest = platform::ingest(&broker, "policy", "invoice").await?;
        let loops = platform::loops(supervisor, &outbox, ingest);
        Ok(loops.run(platform::asked_to_end(until_input_ends)).await?)
    }
}

impl Resend {
    /// Nothing is published anew: the relay has the same events once more, and each is known by its id wherever it comes.
    async fn run(self) -> anyhow::Result<()> {
        let pool = platform::connect(&self.database).await?;
        let last = sqlx::query_scalar(
            "select id from system.event where event_type like 'policy.%' order by id desc limit $1",
        );
        let ids: Vec<sqlx::types::Uuid> = last.bind(self.last).fetch_all(&pool).await?;
        // It runs no handler, so it needs nothing of what they need.
        let operator = Outbox::builder(pool).registry(platform::registry(Release::Third, |_| false)).build().await?;
        let resent = operator.replay("policy.relay").ids(ids.into_iter().map(outbox::EventId::from)).run().await?;
        println!("{}", serde_json::json!({ "enqueued": resent.enqueued, "done_before": resent.done }));
        Ok(())
    }
}
