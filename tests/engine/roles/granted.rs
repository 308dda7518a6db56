//! Tables with the roles granted, and logins that are members of them.

use outbox::{Outbox, Registry, Roles};
use outbox_testing::Sandbox;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::types::Uuid;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, PgPool};

use crate::floor::Floor;
use crate::sql::code;

pub const ALL: [&str; 4] = ["publisher", "worker", "reader", "admin"];
pub const DENIED: &str = "42501";

/// Logins that are members of the roles of one prefix, and whatever else a test makes; all dropped with the handle.
pub struct Logins {
    pub prefix: String,
    pub admin: PgConnectOptions,
}

impl Logins {
    pub fn new(sandbox: &Sandbox) -> Self {
        let random = Uuid::new_v4().simple().to_string();
        Self { prefix: format!("r{}", &random[..12]), admin: (*sandbox.pool().connect_options()).clone() }
    }

    pub fn roles(&self, schema: &str) -> Roles {
        Roles::new().schema(schema).prefix(&*self.prefix)
    }

    pub async fn execute(&self, text: String) {
        let mut connection = PgConnection::connect_with(&self.admin).await.unwrap();
        connection.execute(sqlx::raw_sql(AssertSqlSafe(text))).await.unwrap();
        connection.close().await.unwrap();
    }

    /// The pool of a login role that is made for it, a member of `role` if there is one.
    pub async fn pool(&self, name: &str, role: Option<&str>) -> PgPool {
        let login = format!("{}_l_{name}", self.prefix);
        self.execute(format!("create role {login} login nosuperuser nocreatedb nocreaterole password 'x'")).await;
        if let Some(role) = role {
            self.execute(format!("grant {}_{role} to {login}", self.prefix)).await;
        }
        let options = self.admin.clone().username(&login).password("x");
        PgPoolOptions::new().max_connections(8).connect_with(options).await.unwrap()
    }
}

impl Drop for Logins {
    fn drop(&mut self) {
        let (admin, prefix) = (self.admin.clone(), self.prefix.clone());
        // A thread of its own, because a drop cannot await. What stays is no reason to fail a test.
        let _ = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(async {
                let mut connection = PgConnection::connect_with(&admin).await.ok()?;
                let text = "select rolname::text from pg_roles where starts_with(rolname, $1)";
                let names: Vec<String> = sqlx::query_scalar(text).bind(prefix).fetch_all(&mut connection).await.ok()?;
                for name in names {
                    let drop = format!("drop owned by {name} cascade; drop role {name}");
                    connection.execute(sqlx::raw_sql(AssertSqlSafe(drop))).await.ok()?;
                }
                connection.close().await.ok()
            })
        })
        .join();
    }
}

/// Tables with the roles granted. The logins are dropped before the tables.
pub struct Granted {
    pub logins: Logins,
    pub floor: Floor,
}

impl Granted {
    pub async fn new() -> Self {
        let floor = Floor::new().await;
        let logins = Logins::new(&floor.sandbox);
        logins.roles(floor.sandbox.schema()).grant(floor.sandbox.pool()).await.unwrap();
        Self { logins, floor }
    }

    pub async fn member(&self, role: &str) -> PgPool {
        self.logins.pool(role, Some(role)).await
    }

    pub fn outbox(&self, pool: &PgPool, registry: Registry) -> outbox::OutboxBuilder {
        Outbox::builder(pool.clone()).schema(self.floor.sandbox.schema()).registry(registry)
    }

    /// The SQLSTATE of a statement, run in a transaction that is rolled back; `None` when it is allowed.
    pub async fn answer(&self, pool: &PgPool, text: &str) -> Option<String> {
        let mut tx = pool.begin().await.unwrap();
        let result = tx.execute(sqlx::raw_sql(self.floor.fill(text))).await;
        tx.rollback().await.unwrap();
        result.err().map(|error| code(&error))
    }

    pub async fn assert_denied(&self, pool: &PgPool, texts: &[&str]) {
        for text in texts {
            assert_eq!(self.answer(pool, text).await.as_deref(), Some(DENIED), "{text}");
        }
    }

    pub async fn assert_allowed(&self, pool: &PgPool, texts: &[&str]) {
        for text in texts {
            assert_eq!(self.answer(pool, text).await, None, "{text}");
        }
    }
}

/// What no role but the tables' owner may do.
pub const FOR_THE_OWNER: [&str; 15] = [
    "create table :schema.mine (id int)",
    "alter table :schema.job_live add column mine int",
    "drop table :schema.attempt",
    "truncate :schema.job_live",
    "truncate :schema.event",
    "delete from :schema.event",
    "update :schema.event set payload = '{}'",
    "delete from :schema.job_failed",
    "delete from :schema.job_succeeded",
    "delete from :schema.attempt",
    "select :schema.erase_event(gen_random_uuid(), 'why')",
    "select :schema.ensure_partition('event', 'x', 'id', '', '')",
    "update :schema.retention set due_at = now()",
    "select :schema.retention_begins('failed', '1 day', '0 days')",
    "select :schema.retention_references(null, null, 1)",
];
