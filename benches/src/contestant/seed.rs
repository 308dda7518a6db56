//! The rows that a drain begins with: published as a user publishes them, by a process of its own, so that what that takes is not the
//! contestant's memory.

use std::time::Duration;

use anyhow::Context as _;
use outbox::{Event, Outbox};
use sqlx::PgPool;

use super::order::{AccountCredited, HANDLERS, OrderPlaced};
use super::{database, pool};

/// What, and how much.
#[derive(Debug, clap::Args)]
pub(crate) struct Seeding {
    kind: Kind,
    events: u64,
}

/// Of which jobs come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Kind {
    /// Five for each event, which do nothing.
    Orders,
    /// One for each event, with a row to insert.
    Credits,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Orders => "orders",
            Self::Credits => "credits",
        }
    }

    fn jobs_each(self) -> u64 {
        match self {
            Self::Orders => HANDLERS.len() as u64,
            Self::Credits => 1,
        }
    }
}

/// Events of one transaction.
const CHUNK: u64 = 5_000;
const GLANCE: Duration = Duration::from_millis(20);

/// Publishes, in the process of its own.
pub(crate) async fn seed(seeding: Seeding) -> anyhow::Result<()> {
    let pool = pool(database()?, 2).await?;
    outbox::migrate(&pool).await?;
    let outbox = Outbox::builder(pool.clone()).build().await?;
    outbox.run(backfilled(&pool)).await?;
    anyhow::ensure!(!is_fresh(&pool).await?, "the handlers' activation did not come to its end");
    match seeding.kind {
        Kind::Orders => publish(&outbox, seeding.events, OrderPlaced::numbered).await,
        Kind::Credits => publish(&outbox, seeding.events, AccountCredited::numbered).await,
    }
}

/// The handlers are new here, and a worker looks once through every event that was published behind that: it is to have done so while
/// there is none.
async fn backfilled(pool: &PgPool) {
    while is_fresh(pool).await.unwrap_or(false) {
        tokio::time::sleep(GLANCE).await;
    }
}

async fn is_fresh(pool: &PgPool) -> Result<bool, sqlx::Error> {
    let fresh = "select exists (select from system.subscription where kind = 'event' and backfilled_at is null)";
    sqlx::query_scalar(fresh).fetch_one(pool).await
}

async fn publish<E: Event>(outbox: &Outbox, events: u64, numbered: fn(u64) -> E) -> anyhow::Result<()> {
    let mut first = 0;
    while first < events {
        let behind = (first + CHUNK).min(events);
        let chunk: Vec<E> = (first..behind).map(numbered).collect();
        let mut tx = outbox.begin().await?;
        outbox.publish_all(&mut tx, &chunk).await?;
        tx.commit().await?;
        first = behind;
    }
    Ok(())
}

/// Has the handlers known and their activation ended, and publishes nothing.
pub(super) async fn catalogue() -> anyhow::Result<()> {
    jobs(Kind::Orders, 0).await
}

/// Has so many jobs published, all of which are due.
pub(super) async fn jobs(kind: Kind, jobs: u64) -> anyhow::Result<()> {
    let each = kind.jobs_each();
    anyhow::ensure!(jobs.is_multiple_of(each), "{jobs} jobs are not {each} for each event");
    let program = std::env::current_exe()?;
    let seeding = tokio::task::spawn_blocking(move || {
        std::process::Command::new(program).args(["seed", kind.word(), &(jobs / each).to_string()]).status()
    });
    let status = seeding.await?.context("start the seeding")?;
    anyhow::ensure!(status.success(), "seeding ended with {status}");
    Ok(())
}
