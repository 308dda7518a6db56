//! A table behind a proxy.

use outbox_testing::Sandbox;
use outbox_testing::fault::Proxy;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, PgPool};

/// A schema with a table `word`, and a proxy before its server.
pub(crate) struct Stand {
    pub(crate) sandbox: Sandbox,
    pub(crate) proxy: Proxy,
}

impl Stand {
    pub(crate) async fn new() -> Self {
        let sandbox = Sandbox::empty().await;
        sandbox.execute(&format!("create schema {}; create table :schema.word (text text)", sandbox.schema())).await;
        let proxy = Proxy::start(&Sandbox::server_url().await).unwrap();
        Self { sandbox, proxy }
    }

    /// A connection through the proxy.
    pub(crate) async fn connect(&self, application: &str) -> PgConnection {
        PgConnection::connect_with(&self.options(application)).await.unwrap()
    }

    pub(crate) fn options(&self, application: &str) -> PgConnectOptions {
        self.proxy.options().application_name(application)
    }

    /// A pool through the proxy.
    pub(crate) fn pool(&self, application: &str, connections: u32) -> PgPool {
        PgPoolOptions::new().max_connections(connections).connect_lazy_with(self.options(application))
    }

    /// How often the table holds this word, asked past the proxy.
    pub(crate) async fn holds(&self, word: &str) -> i64 {
        self.sandbox.number(&format!("select count(*) from :schema.word where text = '{word}'")).await
    }

    /// A statement that the wire knows as `name` and that adds a word.
    pub(crate) fn add(&self, name: &str, word: &str) -> String {
        format!("-- {name}: a word more\ninsert into {} values ('{word}')", self.sandbox.table("word"))
    }

    /// How many backends of this application the server has, asked past the proxy.
    pub(crate) async fn backends(&self, application: &str) -> i64 {
        let text = format!("select count(*) from pg_stat_activity where application_name = '{application}'");
        self.sandbox.number(&text).await
    }
}

/// Executes a statement that is prepared first.
pub(crate) async fn execute(connection: &mut PgConnection, text: String) -> Result<(), sqlx::Error> {
    sqlx::query(AssertSqlSafe(text)).execute(connection).await.map(drop)
}

/// Executes statements in one message.
pub(crate) async fn execute_raw(connection: &mut PgConnection, text: &str) -> Result<(), sqlx::Error> {
    connection.execute(sqlx::raw_sql(AssertSqlSafe(text))).await.map(drop)
}

/// A name that no other test's connections have.
pub(crate) fn application(stand: &Stand, what: &str) -> String {
    format!("{what} {}", &stand.sandbox.schema()[..12])
}
