//! The Rust crate `sqlxmq`.

use std::error::Error;
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;

use protocol::{Payload, Peer, Result};
use sqlx::PgPool;
use sqlx::migrate::Migrator;
use sqlx::postgres::PgPoolOptions;
use sqlxmq::{CurrentJob, JobRegistry, job};

/// Its documentation asks to copy these files: `build.rs` finds them instead.
const MIGRATIONS: &str = env!("SQLXMQ_MIGRATIONS");

struct Sqlxmq {
    pool: PgPool,
}

#[job]
async fn handle(mut job: CurrentJob) -> Result<(), Box<dyn Error + Send + Sync + 'static>> {
    let payload: Payload = job.json()?.ok_or("a job without a payload")?;
    protocol::handled(payload.number);
    job.complete().await?;
    Ok(())
}

impl Sqlxmq {
    async fn spawn_all(&self, jobs: &[Payload]) -> Result<()> {
        let mut transaction = self.pool.begin().await?;
        for payload in jobs {
            handle.builder().set_json(payload)?.spawn(&mut *transaction).await?;
        }
        transaction.commit().await?;
        Ok(())
    }
}

impl Peer for Sqlxmq {
    const SETTINGS: &'static str =
        "concurrency 50 to 100, pool 20; one spawn a job, 1000 in a transaction for lack of a bulk API";
    const VERSION: &'static str = "sqlxmq 0.6.0";

    async fn prepare(database: &str) -> Result<Self> {
        let pool = PgPoolOptions::new().max_connections(20).min_connections(10).connect(database).await?;
        Migrator::new(Path::new(MIGRATIONS)).await?.run(&pool).await?;
        Ok(Self { pool })
    }

    async fn analyze(&self) -> Result<()> {
        sqlx::query("ANALYZE").execute(&self.pool).await?;
        Ok(())
    }

    // README, "Transactional sending of jobs".
    async fn publish(&self, jobs: Vec<Payload>) -> Result<()> {
        self.spawn_all(&jobs).await
    }

    async fn bulk(&self, numbers: Range<u64>) -> Result<()> {
        let jobs: Vec<_> = numbers.map(Payload::new).collect();
        for chunk in jobs.chunks(1_000) {
            self.spawn_all(chunk).await?;
        }
        Ok(())
    }

    async fn enqueue(&self, job: Payload) -> Result<()> {
        handle.builder().set_json(&job)?.spawn(&self.pool).await?;
        Ok(())
    }

    // `set_concurrency`: "the difference between the min and max will dictate the maximum batch size which can be received: larger batch
    // sizes are more efficient".
    async fn work(&self) -> Result<()> {
        let runner = JobRegistry::new(&[handle]).runner(&self.pool).set_concurrency(50, 100).run().await?;
        // Dropped, it would stop.
        std::mem::forget(runner);
        Ok(())
    }

    async fn unfinished(&self) -> Result<i64> {
        // It keeps one row of its own, with the nil id.
        let count = "SELECT count(*) FROM mq_msgs WHERE id <> '00000000-0000-0000-0000-000000000000'";
        Ok(sqlx::query_scalar(count).fetch_one(&self.pool).await?)
    }
}

fn main() -> ExitCode {
    protocol::run::<Sqlxmq>()
}
