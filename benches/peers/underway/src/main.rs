//! The Rust crate `underway`.

use std::ops::Range;
use std::process::ExitCode;
use std::sync::Arc;

use jiff::Span;
use protocol::{Payload, Peer, Result};
use sqlx::postgres::PgPoolOptions;
use sqlx::{PgPool, Postgres, Transaction};
use underway::{Queue, Task, Worker, task};

/// A task rather than a `Job`, since only a queue of tasks takes many at once.
#[derive(Clone)]
struct Job;

impl Task for Job {
    type Input = Payload;
    type Output = ();

    async fn execute(&self, _transaction: Transaction<'_, Postgres>, input: Payload) -> task::Result<()> {
        protocol::handled(input.number);
        Ok(())
    }
}

struct Underway {
    pool: PgPool,
    queue: Arc<Queue<Job>>,
}

impl Peer for Underway {
    const SETTINGS: &'static str = "concurrency limit 16, poll each 100 ms beside its listener, pool 40; enqueue_multi";
    const VERSION: &'static str = "underway 0.2.0";

    async fn prepare(database: &str) -> Result<Self> {
        let pool = PgPoolOptions::new().max_connections(40).min_connections(10).connect(database).await?;
        underway::run_migrations(&pool).await?;
        let queue = Arc::new(Queue::builder().name("job").pool(pool.clone()).build().await?);
        Ok(Self { pool, queue })
    }

    async fn analyze(&self) -> Result<()> {
        sqlx::query("ANALYZE").execute(&self.pool).await?;
        Ok(())
    }

    // `Queue::enqueue_multi`: any executor, a transaction of the caller among them.
    async fn publish(&self, jobs: Vec<Payload>) -> Result<()> {
        let mut transaction = self.pool.begin().await?;
        self.queue.enqueue_multi(&mut *transaction, &Job, &jobs).await?;
        transaction.commit().await?;
        Ok(())
    }

    async fn bulk(&self, numbers: Range<u64>) -> Result<()> {
        let jobs: Vec<_> = numbers.map(Payload::new).collect();
        self.queue.enqueue_multi(&self.pool, &Job, &jobs).await?;
        Ok(())
    }

    async fn enqueue(&self, job: Payload) -> Result<()> {
        self.queue.enqueue(&self.pool, &Job, &job).await?;
        Ok(())
    }

    // Its listener and each poll begin one task more at a time, up to `set_concurrency_limit`; the poll is once a minute where
    // `Worker::run_every` is not told otherwise.
    async fn work(&self) -> Result<()> {
        let mut worker = Worker::new(Arc::clone(&self.queue), Job);
        worker.set_concurrency_limit(16);
        let every = Span::new().milliseconds(100);
        tokio::spawn(async move {
            if let Err(error) = worker.run_every(every).await {
                eprintln!("error: {error}");
                std::process::exit(1);
            }
        });
        Ok(())
    }

    async fn unfinished(&self) -> Result<i64> {
        let count = "SELECT count(*) FROM underway.task WHERE state IN ('pending', 'in_progress')";
        Ok(sqlx::query_scalar(count).fetch_one(&self.pool).await?)
    }
}

fn main() -> ExitCode {
    protocol::run::<Underway>()
}
