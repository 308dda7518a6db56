//! A database of its own, for what concerns more than one schema.

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::types::Uuid;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection, PgPool};

use outbox_testing::Sandbox;

/// A fresh database, and perhaps a role; dropped with the handle.
pub struct Database {
    name: String,
    role: Option<String>,
    admin: PgConnectOptions,
    /// Connects to it, as the role if there is one.
    pub options: PgConnectOptions,
}

impl Database {
    pub async fn new() -> Self {
        let admin: PgConnectOptions = Sandbox::server_url().await.parse().unwrap();
        let through: PgConnectOptions = Sandbox::url().await.parse().unwrap();
        let name = format!("outbox_test_{}", Uuid::new_v4().simple());
        let mut connection = PgConnection::connect_with(&admin).await.unwrap();
        connection.execute(AssertSqlSafe(format!("create database {name}"))).await.unwrap();
        connection.close().await.unwrap();
        Self { options: through.database(&name), name, role: None, admin }
    }

    /// As a role that owns nothing, and may only connect to this database and create schemas in it.
    pub async fn with_plain_role(mut self) -> Self {
        let role = format!("r{}", Uuid::new_v4().simple());
        let mut connection = PgConnection::connect_with(&self.admin.clone().database(&self.name)).await.unwrap();
        let text = format!(
            "create role {role} login nosuperuser nocreatedb nocreaterole password 'x';
             revoke all on database {name} from public; grant connect, create on database {name} to {role};
             revoke all on schema public from public",
            name = self.name
        );
        connection.execute(sqlx::raw_sql(AssertSqlSafe(text))).await.unwrap();
        connection.close().await.unwrap();
        self.options = self.options.clone().username(&role).password("x");
        self.role = Some(role);
        self
    }

    /// A setting that every session in it begins with.
    pub async fn set(&self, name: &str, value: &str) {
        let mut connection = PgConnection::connect_with(&self.admin).await.unwrap();
        let text = format!("alter database {} set {name} = '{value}'", self.name);
        connection.execute(AssertSqlSafe(text)).await.unwrap();
        connection.close().await.unwrap();
    }

    pub fn url(&self) -> String {
        self.options.to_url_lossy().to_string()
    }

    pub async fn pool(&self) -> PgPool {
        PgPoolOptions::new().max_connections(8).connect_with(self.options.clone()).await.unwrap()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (admin, name, role) = (self.admin.clone(), self.name.clone(), self.role.clone());
        // A thread of its own, because a drop cannot await. What stays is no reason to fail a test.
        let _ = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(async {
                let mut connection = PgConnection::connect_with(&admin).await.ok()?;
                connection.execute(AssertSqlSafe(format!("drop database {name} with (force)"))).await.ok()?;
                if let Some(role) = role {
                    connection.execute(AssertSqlSafe(format!("drop role {role}"))).await.ok()?;
                }
                connection.close().await.ok()
            })
        })
        .join();
    }
}
