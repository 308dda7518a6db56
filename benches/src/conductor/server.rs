//! The server of a run, and a database of its own for each cell.

use std::time::Duration;

use anyhow::Context as _;
use outbox_testing::server::{Options, Server};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, PgConnection};

/// Everything else is PostgreSQL's default: `fsync`, `synchronous_commit` and `full_page_writes` are on.
const SETTINGS: [(&str, &str); 3] =
    [("shared_buffers", "1GB"), ("max_wal_size", "8GB"), ("checkpoint_timeout", "30min")];
/// Not every installation has it.
const COUNTER: (&str, &str) = ("shared_preload_libraries", "pg_stat_statements");

/// A server with durable settings. It ends with this value.
#[derive(Debug)]
pub(super) struct Stage {
    server: Server,
    /// In the database that every server has.
    pub(super) admin: PgConnection,
    /// Whether the server counts statements.
    pub(super) counts: bool,
    made: u32,
    described: String,
}

impl Stage {
    pub(super) async fn start() -> anyhow::Result<Self> {
        let (server, counts) = tokio::task::spawn_blocking(start).await??;
        let mut admin = PgConnection::connect(server.url()).await.context("the server does not answer")?;
        if counts {
            admin.execute("create extension if not exists pg_stat_statements").await?;
        }
        let version = server.version().unwrap_or("of an unknown version").to_owned();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let described = format!("PostgreSQL {version}, durable, shared_buffers 1 GB, {cores} processors");
        Ok(Self { server, admin, counts, made: 0, described })
    }

    /// One line.
    pub(super) fn describe(&self) -> &str {
        &self.described
    }

    /// A new database; its name. The checkpoint comes before it is filled, so that no cell writes images of whole pages that another
    /// would not, and what the cells before left behind is written out.
    pub(super) async fn make_database(&mut self) -> anyhow::Result<String> {
        self.made += 1;
        let name = format!("bench_{}", self.made);
        self.admin.execute(AssertSqlSafe(format!("create database {name}"))).await?;
        self.admin.execute("checkpoint").await?;
        Ok(name)
    }

    /// With everything that is in it.
    pub(super) async fn drop_database(&mut self, name: &str) -> anyhow::Result<()> {
        self.admin.execute(AssertSqlSafe(format!("drop database {name} with (force)"))).await?;
        Ok(())
    }

    pub(super) fn url_of(&self, database: &str) -> anyhow::Result<String> {
        let options: PgConnectOptions = self.server.url().parse()?;
        Ok(options.database(database).to_url_lossy().to_string())
    }

    /// A connection to a cell's database.
    pub(super) async fn connect(&self, database: &str) -> anyhow::Result<PgConnection> {
        let connection = PgConnection::connect(&self.url_of(database)?);
        Ok(tokio::time::timeout(Duration::from_secs(10), connection).await??)
    }
}

/// With the counter of statements, where the installation has it.
fn start() -> anyhow::Result<(Server, bool)> {
    let options = |settings: &[(&str, &str)]| Options {
        durable: true,
        settings: settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        ..Options::default()
    };
    let counting: Vec<_> = SETTINGS.into_iter().chain([COUNTER]).collect();
    if let Ok(server) = Server::start(&options(&counting)) {
        return Ok((server, true));
    }
    Ok((Server::start(&options(&SETTINGS))?, false))
}
