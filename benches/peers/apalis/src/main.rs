//! The Rust crate `apalis-postgres`.

use std::ops::Range;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use apalis::prelude::*;
use apalis_postgres::{Config, PgTask, PostgresStorage, queries};
use protocol::{Payload, Peer, Result};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::runtime::Handle;

const QUEUE: &str = "jobs";

struct Apalis {
    pool: PgPool,
}

fn task(job: &Payload) -> Result<PgTask> {
    Ok(TaskBuilder::new(serde_json::to_vec(job)?).build())
}

async fn handle(job: Payload) -> Result<(), BoxDynError> {
    protocol::handled(job.number);
    Ok(())
}

impl Peer for Apalis {
    const SETTINGS: &'static str = "batch_size 1000, lock_tasks off, pubsub and a poll each 100 ms, parallelize(tokio::spawn), pool 20; push_tasks";
    const VERSION: &'static str = "apalis-postgres 1.0.0";

    async fn prepare(database: &str) -> Result<Self> {
        let pool = PgPoolOptions::new().max_connections(20).min_connections(10).connect(database).await?;
        PostgresStorage::setup(&pool).await?;
        Ok(Self { pool })
    }

    async fn analyze(&self) -> Result<()> {
        sqlx::query("ANALYZE").execute(&self.pool).await?;
        Ok(())
    }

    // README, "Pubsub listener example": `push_tasks` on a transaction of the caller.
    async fn publish(&self, jobs: Vec<Payload>) -> Result<()> {
        let tasks = jobs.iter().map(task).collect::<Result<_>>()?;
        let mut transaction = self.pool.begin().await?;
        queries::push_tasks(&mut *transaction, QUEUE, tasks).await?;
        transaction.commit().await?;
        Ok(())
    }

    async fn bulk(&self, numbers: Range<u64>) -> Result<()> {
        let jobs: Vec<_> = numbers.map(Payload::new).collect();
        let mut connection = self.pool.acquire().await?;
        for chunk in jobs.chunks(5_000) {
            let tasks = chunk.iter().map(task).collect::<Result<_>>()?;
            queries::push_tasks(&mut *connection, QUEUE, tasks).await?;
        }
        Ok(())
    }

    async fn enqueue(&self, job: Payload) -> Result<()> {
        let mut connection = self.pool.acquire().await?;
        queries::push_tasks(&mut *connection, QUEUE, vec![task(&job)?]).await?;
        Ok(())
    }

    // README: the listener beside a poll; `Config::batch_size`: "larger batches can improve throughput by reducing the number of queue
    // operations". A task is its worker's from the fetch on; `lock_tasks` would only mark it as running by one statement more.
    async fn work(&self) -> Result<()> {
        let pool = self.pool.clone();
        let runtime = Handle::current();
        // The future of a worker with `parallelize` cannot be spawned, so it has a thread where an application has its `main`.
        thread::spawn(move || {
            let config = Config::default().queue(QUEUE).batch_size(1_000).lock_tasks(false);
            let backend = PostgresStorage::<Payload>::new(&pool)
                .with_config(config)
                .with_pubsub()
                .poll_with_strategy(Strategy::new().interval(Duration::from_millis(100)));
            let worker = WorkerBuilder::new("worker").backend(backend).parallelize(tokio::spawn).build(handle);
            if let Err(error) = runtime.block_on(worker.run()) {
                eprintln!("error: {error}");
                std::process::exit(1);
            }
        });
        Ok(())
    }

    async fn unfinished(&self) -> Result<i64> {
        let count = "SELECT count(*) FROM apalis.jobs WHERE status <> 'Done'";
        Ok(sqlx::query_scalar(count).fetch_one(&self.pool).await?)
    }
}

fn main() -> ExitCode {
    protocol::run::<Apalis>()
}
