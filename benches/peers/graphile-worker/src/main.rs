//! The Rust crate `graphile_worker`.

use std::ops::Range;
use std::process::ExitCode;
use std::time::Duration;

use graphile_worker::{
    IntoTaskHandlerResult, JobSpec, LocalQueueConfig, TaskHandler, WorkerContext, WorkerOptions, WorkerUtils,
};
use protocol::{Payload, Peer, Result};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

const SCHEMA: &str = "graphile_worker";

#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
struct Job(Payload);

impl TaskHandler for Job {
    const IDENTIFIER: &'static str = "job";

    async fn run(self, _context: WorkerContext) -> impl IntoTaskHandlerResult {
        protocol::handled(self.0.number);
        Ok::<(), String>(())
    }
}

struct GraphileWorker {
    pool: PgPool,
    utils: WorkerUtils,
}

impl Peer for GraphileWorker {
    const SETTINGS: &'static str =
        "concurrency 500, local queue 5000, completions batched for 5 ms, poll 5 ms, pool 30; add_jobs";
    const VERSION: &'static str = "graphile_worker 0.14.1";

    async fn prepare(database: &str) -> Result<Self> {
        let pool = PgPoolOptions::new().max_connections(30).min_connections(30).connect(database).await?;
        let utils = WorkerUtils::new(pool.clone(), SCHEMA);
        utils.migrate().await?;
        Ok(Self { pool, utils })
    }

    async fn analyze(&self) -> Result<()> {
        sqlx::query("ANALYZE").execute(&self.pool).await?;
        Ok(())
    }

    // "The preferred API when a job must be committed atomically with application data": docs, runtime drivers, "WorkerUtils With A
    // Caller-Owned Executor".
    async fn publish(&self, jobs: Vec<Payload>) -> Result<()> {
        let spec = JobSpec::default();
        let jobs: Vec<_> = jobs.into_iter().map(|payload| (Job(payload), &spec)).collect();
        let mut transaction = self.pool.begin().await?;
        self.utils.clone().with_executor(&mut transaction).add_jobs(&jobs).await?;
        transaction.commit().await?;
        Ok(())
    }

    // "Use bulk adds when you want to enqueue many independent jobs efficiently": docs, batch jobs.
    async fn bulk(&self, numbers: Range<u64>) -> Result<()> {
        let spec = JobSpec::default();
        let jobs: Vec<_> = numbers.map(|number| (Job(Payload::new(number)), &spec)).collect();
        for chunk in jobs.chunks(10_000) {
            self.utils.add_jobs(chunk).await?;
        }
        Ok(())
    }

    async fn enqueue(&self, job: Payload) -> Result<()> {
        self.utils.add_job(Job(job), JobSpec::default()).await?;
        Ok(())
    }

    // The settings of the crate's own throughput benchmark, benches/perf_test.rs.
    async fn work(&self) -> Result<()> {
        let worker = WorkerOptions::default()
            .pg_pool(self.pool.clone())
            .schema(SCHEMA)
            .concurrency(500)
            .poll_interval(Duration::from_millis(5))
            .complete_job_batch_delay(Duration::from_millis(5))
            .local_queue(LocalQueueConfig::default().with_size(5_000))
            .define_job::<Job>()
            .init()
            .await?;
        tokio::spawn(async move {
            if let Err(error) = worker.run().await {
                eprintln!("error: {error}");
                std::process::exit(1);
            }
        });
        Ok(())
    }

    async fn unfinished(&self) -> Result<i64> {
        Ok(sqlx::query_scalar("SELECT count(*) FROM graphile_worker._private_jobs").fetch_one(&self.pool).await?)
    }
}

fn main() -> ExitCode {
    protocol::run::<GraphileWorker>()
}
