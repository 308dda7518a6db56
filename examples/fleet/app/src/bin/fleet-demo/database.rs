//! A database of this run's own.

use anyhow::Context as _;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, PgConnection};
use uuid::Uuid;

/// A database that was made for this run.
#[derive(Debug)]
pub(crate) struct Database {
    server: PgConnectOptions,
    name: String,
}

impl Database {
    pub(crate) async fn create(server: &str, of: &str) -> anyhow::Result<Self> {
        let server: PgConnectOptions = server.parse().context("the database's URL is none")?;
        let name = format!("fleet_{of}_{}_{}", std::process::id(), Uuid::new_v4().simple());
        let database = Self { server, name };
        database.execute(format!("create database {}", database.name)).await?;
        Ok(database)
    }

    pub(crate) fn url(&self) -> String {
        self.server.clone().database(&self.name).to_url_lossy().to_string()
    }

    /// Removes it, whoever is still connected.
    pub(crate) async fn drop(self) -> anyhow::Result<()> {
        self.execute(format!("drop database {} with (force)", self.name)).await
    }

    async fn execute(&self, statement: String) -> anyhow::Result<()> {
        let mut connection = PgConnection::connect_with(&self.server).await.context("the database does not answer")?;
        connection.execute(AssertSqlSafe(statement)).await?;
        connection.close().await?;
        Ok(())
    }
}
