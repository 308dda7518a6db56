//! A contestant: one side of one work, done once.

mod bell;
mod crowd;
mod cue;
mod limit;
mod order;
mod ours;
mod rhythm;
mod seed;
mod settings;
mod tally;
mod vault;

use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use crate::works::{BARE, EMPTY, KICK, LIMIT, OTHER, OURS, SAME, UNKNOWN};
use crowd::Crowd;
use cue::Cue;
pub(crate) use ours::rescue::{Holding, hold};
pub(crate) use seed::{Seeding, seed};
use settings::Settings;

/// Who does what, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    side: String,
    work: String,
    /// `--key value ..`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    settings: Vec<String>,
}

/// Does it.
pub(crate) async fn contest(arguments: Arguments) -> anyhow::Result<()> {
    let settings = Settings::read(&arguments.settings)?;
    let cue = Cue;
    let side = arguments.side.as_str();
    match (side, arguments.work.as_str()) {
        (OURS, "publish") => ours::publish::publish(cue, &settings).await,
        (OURS, "bulk") => ours::bulk::bulk(cue, &settings).await,
        (OURS | EMPTY | SAME | OTHER | UNKNOWN, "drain") => {
            ours::drain::drain(cue, &settings, Crowd::of(side, &settings)?).await
        }
        (OURS, "tx-drain") => ours::tx_drain::tx_drain(cue, &settings).await,
        (OURS, "latency") if settings.number("apart")? != 0 => ours::latency::apart(cue, &settings).await,
        (OURS | KICK, "latency") => ours::latency::together(cue, &settings).await,
        (OURS, "rescue") => ours::rescue::rescue(cue, &settings).await,
        (OURS, "steady") => ours::steady::steady(cue, &settings).await,
        (LIMIT, "publish") => limit::publish::publish(cue, &settings).await,
        (BARE, "publish") => limit::bare::publish(cue, &settings).await,
        (LIMIT, "bulk") => limit::bulk::bulk(cue, &settings).await,
        (LIMIT, "drain") => limit::drain::drain(cue, &settings).await,
        (LIMIT, "latency") => limit::latency::latency(cue, &settings).await,
        (LIMIT, "tx-drain") => limit::tx_drain::tx_drain(cue, &settings).await,
        (side, work) => anyhow::bail!("`{side}` does not do `{work}`"),
    }
}

/// Where the work is done.
fn database() -> anyhow::Result<PgConnectOptions> {
    let url = std::env::var("DATABASE_URL").map_err(|_| anyhow::anyhow!("DATABASE_URL names no database"))?;
    Ok(url.parse()?)
}

/// A pool that connects when it is made, so that nobody waits for that later.
async fn pool(options: PgConnectOptions, connections: u32) -> anyhow::Result<PgPool> {
    // Asking a connection whether it lives is a round trip each time it is taken: both sides do without.
    let pool =
        PgPoolOptions::new().min_connections(connections).max_connections(connections).test_before_acquire(false);
    Ok(pool.connect_with(options).await?)
}
