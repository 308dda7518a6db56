//! A schema of its own for each test.

use std::sync::OnceLock;

use outbox_core::Event;
use outbox_postgres::{Outbox, OutboxBuilder};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, PgPool};
use uuid::Uuid;

use crate::jobs::Jobs;
use crate::server::Server;

/// One server a test binary: the one that the environment names, else a throwaway.
static SERVER: OnceLock<Server> = OnceLock::new();

/// The environment variable that names a pooler in transaction mode in front of that server. Outboxes then go through it, and what
/// a test does itself goes past it.
pub const POOLER_VARIABLE: &str = "OUTBOX_TEST_POOLER_URL";

/// A migrated schema that no other test sees, on the test binary's server. Dropped with the handle.
///
/// The server is the one that `OUTBOX_TEST_DATABASE_URL`, `OUTBOX_DATABASE_URL` or `DATABASE_URL` names, else a throwaway. Only the
/// outbox's own tables are apart in a schema: **a handler that writes to `app.account` writes to that table of the server's
/// database.** Tests of such handlers take [`Sandbox::database`], a whole database of their own.
///
/// When `OUTBOX_TEST_POOLER_URL` names a pooler in transaction mode in front of that server (see
/// [`Pooler`](crate::server::Pooler)), the outboxes of a sandbox go through it, and its own pool past it.
#[derive(Debug)]
pub struct Sandbox {
    pool: PgPool,
    /// What outboxes are built on: the same, or one that goes through the pooler.
    product: PgPool,
    schema: String,
    /// The server, when the database is ours and goes with the handle.
    server: Option<PgConnectOptions>,
    /// Whether it has a clock of its own.
    clock: bool,
}

impl Sandbox {
    /// Makes a schema and brings its tables up to date.
    ///
    /// # Panics
    /// When there is no PostgreSQL and none can be obtained; the message says what to do.
    pub async fn new() -> Self {
        let sandbox = Self::empty().await;
        outbox_postgres::migrate_schema(&sandbox.pool, &sandbox.schema).await.expect("the schema is migrated");
        sandbox
    }

    /// A database of its own for the test, with the outbox's tables in its schema `system`, dropped with the handle. Needs the
    /// right to create databases.
    ///
    /// # Panics
    /// As [`new`](Self::new), and when the database cannot be made.
    pub async fn database() -> Self {
        let server = Self::server().await;
        let name = format!("t{}", Uuid::new_v4().simple());
        let mut connection = PgConnection::connect_with(&server).await.expect("the server answers");
        connection.execute(AssertSqlSafe(format!("create database {name}"))).await.expect("a database is made");
        let (pool, product) = pools(server.clone().database(&name)).await;
        let sandbox = Self { pool, product, schema: "system".to_owned(), server: Some(server), clock: false };
        outbox_postgres::migrate(&sandbox.pool).await.expect("the database is migrated");
        sandbox
    }

    /// As [`new`](Self::new), without tables.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub async fn empty() -> Self {
        let schema = format!("t{}", Uuid::new_v4().simple());
        let (pool, product) = pools(Self::server().await).await;
        Self { pool, product, schema, server: None, clock: false }
    }

    /// Where an application under test connects to: the test binary's server, which is started when none is named by the
    /// environment, or the pooler in front of it.
    ///
    /// # Panics
    /// When there is no PostgreSQL and none can be obtained.
    pub async fn url() -> String {
        match pooler() {
            Some(url) => url,
            None => Self::server_url().await,
        }
    }

    /// The URL of the test binary's server itself, past any pooler.
    ///
    /// # Panics
    /// As [`url`](Self::url).
    pub async fn server_url() -> String {
        let server = tokio::task::spawn_blocking(|| {
            SERVER
                .get_or_init(|| Server::obtain().unwrap_or_else(|error| panic!("no PostgreSQL for the tests: {error}")))
        });
        server.await.expect("the server is there").url().to_owned()
    }

    /// Whether outboxes go through a pooler in transaction mode.
    #[must_use]
    pub fn is_pooled() -> bool {
        pooler().is_some()
    }

    async fn server() -> PgConnectOptions {
        Self::server_url().await.parse().expect("the server's URL is one")
    }

    /// An outbox on this schema, to be built.
    pub fn outbox(&self) -> OutboxBuilder {
        self.outbox_on(self.product.clone())
    }

    /// An outbox on this schema, to be built on a pool of yours that leads to where [`url`](Self::url) does.
    pub fn outbox_on(&self, pool: PgPool) -> OutboxBuilder {
        let outbox = Outbox::builder(pool).schema(&self.schema);
        if self.clock { outbox } else { Self::suited(outbox) }
    }

    /// The same outbox, told of the pooler if its pool leads through one: for a process that a test starts and that has no
    /// sandbox of its own.
    pub fn suited(outbox: OutboxBuilder) -> OutboxBuilder {
        if Self::is_pooled() { outbox.transaction_pooler() } else { outbox }
    }

    /// The pool that outboxes are built on, for what an application does besides: it leads through the pooler if there is one.
    #[must_use]
    pub fn application_pool(&self) -> &PgPool {
        &self.product
    }

    /// What an application under test connects with: to this database, through the pooler if there is one.
    #[must_use]
    pub fn options(&self) -> PgConnectOptions {
        self.product.connect_options().as_ref().clone()
    }

    /// A pool on the server itself. Its `search_path` is the server's: name the schema.
    #[must_use]
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// From now on everything goes by this pool, whose sessions see the sandbox's clock.
    pub(crate) fn stands_on(&mut self, pool: PgPool) {
        self.product = pool.clone();
        self.pool = pool;
        self.clock = true;
    }

    /// The schema's name.
    #[must_use]
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// A table of this schema, qualified.
    #[must_use]
    pub fn table(&self, name: &str) -> String {
        format!("\"{}\".{name}", self.schema)
    }

    /// Runs statements in which `:schema.` stands for this schema.
    ///
    /// # Panics
    /// When one fails.
    pub async fn execute(&self, sql: &str) {
        let text = sql.replace(":schema.", &format!("\"{}\".", self.schema));
        self.pool.execute(sqlx::raw_sql(AssertSqlSafe(text))).await.expect("the statements of the test run");
    }

    /// The one number that a query answers, in which `:schema.` stands for this schema.
    ///
    /// # Panics
    /// When it fails, or answers no `bigint`.
    pub async fn number(&self, sql: &str) -> i64 {
        let text = sql.replace(":schema.", &format!("\"{}\".", self.schema));
        sqlx::query_scalar(AssertSqlSafe(text)).fetch_one(&self.pool).await.expect("the query of the test runs")
    }

    /// All jobs, in whatever status.
    ///
    /// # Panics
    /// When they cannot be read.
    pub async fn jobs(&self) -> Jobs {
        Jobs::read(&self.pool, &self.schema).await
    }

    /// Every committed event of type `E`.
    ///
    /// # Panics
    /// When they cannot be read, or do not decode.
    pub async fn published<E: Event>(&self) -> Vec<E> {
        let mut connection = self.pool.acquire().await.expect("the server answers");
        crate::published(&mut connection, &self.schema).await
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let own = self.pool.connect_options();
        let clock = crate::clock::schema(&self.schema);
        let schemas = format!("drop schema if exists \"{}\", \"{clock}\" cascade", self.schema);
        let (options, drop) = match (self.server.take(), own.get_database()) {
            // `force` ends what a test left connected.
            (Some(server), Some(database)) => (server, format!("drop database if exists {database} with (force)")),
            _ => (own.as_ref().clone(), schemas),
        };
        // A thread of its own, because a drop cannot await, and the test's runtime may be going down. What stays is no reason to
        // fail a test: the server is thrown away, or its owner sees it.
        let _ = std::thread::spawn(move || execute(&options, drop)).join();
    }
}

fn pooler() -> Option<String> {
    std::env::var(POOLER_VARIABLE).ok().filter(|url| !url.is_empty())
}

/// One for what a test does itself, and one for the outboxes.
async fn pools(options: PgConnectOptions) -> (PgPool, PgPool) {
    let pool = |options| PgPoolOptions::new().max_connections(12).connect_with(options);
    let own = pool(options.clone()).await.expect("the server answers");
    let Some(url) = pooler() else { return (own.clone(), own) };
    let mut through: PgConnectOptions = url.parse().expect("the pooler's URL is one");
    if let Some(database) = options.get_database() {
        through = through.database(database);
    }
    (own, pool(through).await.expect("the pooler answers"))
}

fn execute(options: &PgConnectOptions, text: String) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connection = PgConnection::connect_with(options).await?;
        // What a test left open must not keep the next one waiting.
        connection.execute("set lock_timeout = '2s'; set client_min_messages = warning").await?;
        connection.execute(AssertSqlSafe(text)).await?;
        connection.close().await?;
        Ok(())
    })
}
