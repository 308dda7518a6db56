//! A throwaway PostgreSQL with durable settings, and a database of its own for each turn.

use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context as _;
use outbox_testing::server::{Options, Server};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, PgPool};

/// Everything else is PostgreSQL's default: `fsync`, `synchronous_commit` and `full_page_writes` are on.
const SETTINGS: [(&str, &str); 3] =
    [("shared_buffers", "1GB"), ("max_wal_size", "8GB"), ("checkpoint_timeout", "30min")];

pub(crate) struct Database {
    server: Server,
    made: AtomicU32,
    described: String,
}

impl Database {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let settings = SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let options = Options { durable: true, settings, ..Options::default() };
        let server = tokio::task::spawn_blocking(move || Server::start(&options)).await??;
        let version = server.version().unwrap_or("of an unknown version");
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let described = format!("PostgreSQL {version}, durable, shared_buffers 1 GB, {cores} processors");
        Ok(Self { server, made: AtomicU32::new(0), described })
    }

    pub(crate) fn describe(&self) -> &str {
        &self.described
    }

    /// An empty database with the outbox's tables.
    pub(crate) async fn renew(&self) -> anyhow::Result<PgPool> {
        let name = format!("relay_{}", self.made.fetch_add(1, Ordering::Relaxed));
        let mut admin = self.admin().await?;
        admin.execute(AssertSqlSafe(format!("create database {name}"))).await?;
        let options: PgConnectOptions = self.server.url().parse()?;
        let pool = PgPoolOptions::new().max_connections(4).connect_with(options.database(&name)).await?;
        outbox::migrate(&pool).await?;
        Ok(pool)
    }

    /// What was written before costs nothing afterwards.
    pub(crate) async fn settle(&self, pool: &PgPool) -> anyhow::Result<()> {
        pool.execute("vacuum analyze").await?;
        self.admin().await?.execute("checkpoint").await?;
        Ok(())
    }

    async fn admin(&self) -> anyhow::Result<PgConnection> {
        PgConnection::connect(self.server.url()).await.context("the server does not answer")
    }
}
