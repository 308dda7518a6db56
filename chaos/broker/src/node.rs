//! What the processes of both services have in common.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use outbox::{BuildError, Outbox, OutboxBuilder};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tracing_subscriber::EnvFilter;

use crate::ways::Broker;

/// What a process says on its standard output when it is at work.
pub const READY: &str = "ready";
/// How a process ends that cannot reach its database when it opens.
pub const NOT_OPENED: i32 = 3;
/// How a process ends whose conductor has ended.
const ABANDONED: i32 = 4;
/// The lease of every worker: the shortest that there is.
const LEASE: Duration = Duration::from_secs(2);
/// Every process that is killed is charged to the jobs that it held, and this run is about something else.
const CRASHES: u32 = 1_000;

/// Who this process is.
#[derive(Clone, Debug, clap::Args)]
pub struct Node {
    /// Its name: its place, and which process in that place it is.
    #[arg(long)]
    pub name: String,
    /// The database, through its proxy.
    #[arg(long)]
    pub url: String,
    /// Which broker.
    #[arg(long)]
    pub broker: Broker,
    /// Where it is, through its proxy.
    #[arg(long)]
    pub address: SocketAddr,
}

impl Node {
    /// Logs to standard error, and ends when the conductor ends, which holds the other end of the standard input.
    ///
    /// # Errors
    /// When there is no thread.
    pub fn begin(&self) -> anyhow::Result<()> {
        let filter = EnvFilter::new("info,sqlx=error,lapin=off,async_nats=off");
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
        std::thread::Builder::new().name("conductor".to_owned()).spawn(|| {
            // Nothing is ever sent, so any answer is the end.
            let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
            std::process::exit(ABANDONED);
        })?;
        Ok(())
    }

    /// Its connections to the database.
    ///
    /// # Errors
    /// When the URL is none.
    pub fn pool(&self) -> anyhow::Result<PgPool> {
        let options: PgConnectOptions = self.url.parse().context("the URL")?;
        let pool = PgPoolOptions::new().max_connections(8).acquire_timeout(Duration::from_secs(3));
        Ok(pool.connect_lazy_with(options.application_name("chaos")))
    }

    /// An outbox that hurries.
    pub fn builder(&self, pool: &PgPool) -> OutboxBuilder {
        Outbox::builder(pool.clone())
            .name(&self.name)
            .lease(LEASE)
            .shutdown_budget(Duration::from_millis(1_500))
            .crash_limit(CRASHES)
            .poll_interval(Duration::from_millis(200))
    }
}

/// Without its database the process ends at once, and another follows; whatever else is wrong is an error.
///
/// # Errors
/// When it cannot be built.
pub async fn build(builder: OutboxBuilder) -> anyhow::Result<Outbox> {
    match builder.build().await {
        Err(BuildError::Database(error)) => {
            tracing::warn!(%error, "the database does not let this process begin");
            std::process::exit(NOT_OPENED)
        }
        built => Ok(built?),
    }
}

/// Milliseconds since 1970: what processes can tell each other.
#[must_use]
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
