//! A worker in a process of its own: this test binary again, told by its environment to be one.

use std::process::Command;
use std::time::Duration;

use outbox::prelude::*;
use outbox_testing::Sandbox;
use outbox_testing::fault::Process;
use sqlx::{AssertSqlSafe, PgConnection, PgPool};

const SCHEMA: &str = "OUTBOX_TEST_FAULT_SCHEMA";
const URL: &str = "OUTBOX_TEST_FAULT_URL";

/// The shortest that there is.
pub(crate) const LEASE: Duration = Duration::from_secs(2);

/// Somebody asked for something.
#[event("errand.asked")]
pub(crate) struct Asked {
    pub(crate) label: String,
}

/// Where effects go: `table(handler, label)`.
#[derive(Clone)]
pub(crate) struct Effects(String);

impl Effects {
    pub(crate) fn of(schema: &str) -> Self {
        Self(format!("\"{schema}\".effect"))
    }

    async fn write(&self, connection: &mut PgConnection, handler: &str, label: &str) -> Result<(), sqlx::Error> {
        let text = format!("-- effect: of a handler\ninsert into {} values ($1, $2)", self.0);
        sqlx::query(AssertSqlSafe(text)).bind(handler).bind(label).execute(connection).await.map(drop)
    }
}

#[subscriber(event = "errand.asked", name = "errands.in_transaction", backoff = fixed("50ms"))]
async fn in_transaction(asked: Asked, mut tx: Tx<'_>, State(effects): State<Effects>) -> Result<(), sqlx::Error> {
    effects.write(&mut tx, "in_transaction", &asked.label).await
}

#[subscriber(event = "errand.asked", name = "errands.plain", backoff = fixed("50ms"), idempotent = "the test counts its effects")]
async fn plain(asked: Asked, State(effects): State<Effects>, State(pool): State<PgPool>) -> Result<(), sqlx::Error> {
    let mut connection = pool.acquire().await?;
    effects.write(&mut connection, "plain", &asked.label).await
}

/// A worker's outbox, to be built: everything that tests of faults wait for comes soon.
pub(crate) fn outbox(pool: &PgPool, schema: &str) -> outbox::OutboxBuilder {
    Sandbox::suited(Outbox::builder(pool.clone()))
        .schema(schema)
        .state(Effects::of(schema))
        .state(pool.clone())
        .lease(LEASE)
        .poll_interval(Duration::from_millis(50))
}

/// Starts a worker process on this schema. It works until it is killed.
pub(crate) fn start(url: &str, schema: &str) -> Process {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "worker::child", "--nocapture", "--test-threads=1"]).env(SCHEMA, schema).env(URL, url);
    Process::spawn(&mut command).unwrap()
}

/// What a worker process does; in the test run itself, nothing.
#[tokio::test]
async fn child() {
    let Ok(schema) = std::env::var(SCHEMA) else { return };
    let pool = PgPool::connect(&std::env::var(URL).unwrap()).await.unwrap();
    let outbox = outbox(&pool, &schema).build().await.unwrap();
    outbox.run(std::future::pending()).await.unwrap();
}
