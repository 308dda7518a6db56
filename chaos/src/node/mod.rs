//! The processes of a run: workers and publishers. Each has a ledger and a log of its own, and ends with who started it.

mod publisher;
mod refusals;
mod starve;
mod worker;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use outbox::{BuildError, Outbox, OutboxBuilder};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::clock::Monotonic;
use crate::ledger::Ledger;

/// The lease of every worker: the shortest that there is.
pub const LEASE: Duration = Duration::from_secs(2);

/// How long a worker that is asked to end waits for its handlers.
pub const BUDGET: Duration = Duration::from_millis(1_500);

/// Most jobs that wait in a worker's memory. Each of them is charged a crash when their worker dies, and behind that runs alone in
/// its process: with the default of 100, runs of so many deaths would be about little else.
pub const PREFETCH: u32 = 20;

/// How a process ends that cannot reach its database when it opens.
pub const NOT_OPENED: i32 = 3;

/// How a process ends whose conductor has ended.
pub const ABANDONED: i32 = 4;

/// What the process says on its standard output when it is at work.
pub const READY: &str = "ready";

/// Who this process is.
#[derive(Clone, Debug, clap::Args)]
pub struct Node {
    /// Its name: its place, and which process in that place it is.
    #[arg(long)]
    pub name: String,
    /// The database, through its proxy.
    #[arg(long)]
    pub url: String,
    /// Where ledgers are.
    #[arg(long)]
    pub folder: PathBuf,
    /// The run's seed.
    #[arg(long)]
    pub seed: u64,
    /// When the load began, in nanoseconds of the monotonic clock.
    #[arg(long)]
    pub began: u64,
    /// When its pool is taken, counted from then, and for how long, both in milliseconds: `1500+700`.
    #[arg(long = "starve")]
    pub starvations: Vec<String>,
}

/// A worker.
///
/// # Errors
/// When the database cannot be reached, or refuses.
pub async fn work(node: Node) -> anyhow::Result<()> {
    worker::run(&Opened::new(node)?).await
}

/// A publisher of so many transactions a second.
///
/// # Errors
/// When the database cannot be reached, or refuses.
pub async fn publish(node: Node, rate: f64) -> anyhow::Result<()> {
    publisher::run(&Opened::new(node)?, rate).await
}

/// What both roles begin with.
struct Opened {
    node: Node,
    ledger: Ledger,
    pool: PgPool,
}

impl Opened {
    fn new(node: Node) -> anyhow::Result<Self> {
        let ledger = Ledger::open(&node.folder, &node.name).context("the ledger")?;
        tracing_subscriber::registry()
            .with(EnvFilter::new("info,sqlx=error"))
            .with(tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false))
            .with(refusals::Refusals::new(ledger.clone()))
            .try_init()?;
        end_with_the_conductor()?;
        let options: PgConnectOptions = node.url.parse().context("the URL")?;
        // Read by the audit trail, on the engine's own connections too.
        let options = options.application_name("chaos").options([("chaos.node", &node.name)]);
        let pool = PgPoolOptions::new().max_connections(12).acquire_timeout(Duration::from_secs(3));
        Ok(Self { node, ledger, pool: pool.connect_lazy_with(options) })
    }

    fn began(&self) -> Monotonic {
        Monotonic(self.node.began)
    }

    /// Without its database the process ends at once, and another follows; whatever else is wrong is an error.
    async fn outbox(&self) -> anyhow::Result<Outbox> {
        match builder(&self.pool, &self.ledger).name(&self.node.name).build().await {
            Err(BuildError::Database(error)) => {
                tracing::warn!(%error, "the database does not let this process begin");
                std::process::exit(NOT_OPENED)
            }
            built => Ok(built?),
        }
    }
}

/// An outbox with what the handlers take.
pub(crate) fn builder(pool: &PgPool, ledger: &Ledger) -> OutboxBuilder {
    Outbox::builder(pool.clone())
        .state(pool.clone())
        .state(ledger.clone())
        .lease(LEASE)
        .shutdown_budget(BUDGET)
        .prefetch(PREFETCH)
        .poll_interval(Duration::from_millis(200))
}

/// The conductor holds the other end of the standard input, and whatever becomes of it, that end goes with it.
fn end_with_the_conductor() -> std::io::Result<()> {
    std::thread::Builder::new().name("conductor".to_owned()).spawn(|| {
        // Nothing is ever sent, so any answer is the end.
        let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
        std::process::exit(ABANDONED);
    })?;
    Ok(())
}
