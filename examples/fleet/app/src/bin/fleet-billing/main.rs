//! The billing service as a program, and what its operator does.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program speaks by printing")]

mod quarantine;

use std::process::ExitCode;
use std::time::Duration;

use billing::{Authority, Policies};
use clap::{Args, Parser, Subcommand};
use outbox::{Outbox, Supervisor};
use platform::{Common, Release};
use serde_json::json;
use sqlx::PgPool;

/// The billing service.
#[derive(Debug, Parser)]
struct Program {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Charge for policies, and tell the others.
    Serve(Common),
    /// Compare the projection with its authority, and mend it.
    Reconcile(Reconcile),
    /// Look at what came and could not be taken, and decide.
    Quarantine(quarantine::Quarantine),
    /// Have a handler take its last events once more, under their own ids.
    Replay(Replay),
}

#[derive(Debug, Args)]
struct Reconcile {
    #[command(flatten)]
    own: Own,
    /// Where the policy service is, as `http://127.0.0.1:3001`.
    #[arg(long, value_name = "URL")]
    policy: String,
    /// How long a difference has to stand.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 10_000)]
    settle: u64,
}

#[derive(Debug, Args)]
struct Replay {
    #[command(flatten)]
    own: Own,
    /// Its stored name.
    #[arg(long)]
    handler: String,
    /// How many of its events.
    #[arg(long, default_value_t = 20)]
    last: i64,
}

#[derive(Debug, Args)]
struct Own {
    /// The service's own database.
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    database: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Program::parse().what {
        What::Serve(common) => serve(common).await,
        What::Reconcile(reconcile) => reconcile.run().await,
        What::Quarantine(quarantine) => quarantine.run().await,
        What::Replay(replay) => replay.run().await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(common: Common) -> anyhow::Result<()> {
    let Common { database, broker, release, spans, until_input_ends } = common;
    platform::trace::init("billing", spans.as_deref())?;
    let pool = platform::connect(&database).await?;
    billing::migrate(&pool).await.map_err(anyhow::Error::from_boxed)?;
    let relay = platform::relay(&broker, "billing").await?;
    let outbox = billing::outbox(pool, release, relay).lease(platform::LEASE).build().await?;
    let ingest = platform::ingest(&broker, "billing", "policy").await?;
    let loops = platform::loops(Supervisor::new(), &outbox, ingest);
    Ok(loops.run(platform::asked_to_end(until_input_ends)).await?)
}

impl Own {
    /// The outbox of a program that runs no handler, and needs nothing of what they need.
    async fn open(self) -> anyhow::Result<(PgPool, Outbox)> {
        let pool = platform::connect(&self.database).await?;
        let operator = Outbox::builder(pool.clone()).registry(platform::registry(Release::Third, |_| false));
        Ok((pool, operator.build().await?))
    }
}

impl Reconcile {
    async fn run(self) -> anyhow::Result<()> {
        let (pool, outbox) = self.own.open().await?;
        let policies = Policies { pool, authority: Authority::at(self.policy, "token-of-billing") };
        let found = billing::reconcile(&outbox, &policies, Duration::from_millis(self.settle)).await;
        let found = found.map_err(anyhow::Error::from_boxed)?;
        println!(
            "{}",
            json!({
                "compared": found.compared,
                "missing": found.missing,
                "divergent": found.divergent,
                "orphaned": found.orphaned,
                "in_flight": found.in_flight,
                "repaired": found.repaired,
                "failed": found.failed,
                "complete": found.complete,
            })
        );
        Ok(())
    }
}

impl Replay {
    async fn run(self) -> anyhow::Result<()> {
        let (pool, outbox) = self.own.open().await?;
        let last = sqlx::query_scalar(
            "select event_id from system.job_succeeded where job_type = $1 order by event_id desc limit $2",
        );
        let ids: Vec<sqlx::types::Uuid> = last.bind(&self.handler).bind(self.last).fetch_all(&pool).await?;
        let replayed = outbox.replay(self.handler).ids(ids.into_iter().map(outbox::EventId::from)).run().await?;
        println!("{}", json!({ "enqueued": replayed.enqueued, "done_before": replayed.done }));
        Ok(())
    }
}
