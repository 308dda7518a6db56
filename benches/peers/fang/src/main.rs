//! The Rust crate `fang`, its asynchronous queue.

use std::ops::Range;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fang::asynk::async_queue::{AsyncQueue, AsyncQueueable};
use fang::asynk::async_runnable::AsyncRunnable;
use fang::asynk::async_worker_pool::AsyncWorkerPool;
use fang::serde::{Deserialize, Serialize};
use fang::{FangError, RetentionMode, SleepParams, async_trait, typetag};
use protocol::{PUBLISHERS, Payload, Peer, Result};
use sqlx::PgPool;
use tokio::task::JoinSet;

/// Its documentation says where this file is: `build.rs` finds it.
const MIGRATION: &str = include_str!(env!("FANG_MIGRATION"));

#[derive(Serialize, Deserialize)]
#[serde(crate = "fang::serde")]
struct Job(Payload);

#[typetag::serde]
#[async_trait]
impl AsyncRunnable for Job {
    async fn run(&self, _queue: &dyn AsyncQueueable) -> Result<(), FangError> {
        protocol::handled(self.0.number);
        Ok(())
    }
}

struct Fang {
    pool: PgPool,
    queue: AsyncQueue,
}

impl Peer for Fang {
    const SETTINGS: &'static str = "16 workers, pool 20, sleep 20 to 100 ms, RemoveFinished; it has no transaction of the caller and no bulk \
                                    API: one insert_task a job, each committed for itself";
    const VERSION: &'static str = "fang 0.11.0";

    async fn prepare(database: &str) -> Result<Self> {
        let pool = PgPool::connect(database).await?;
        sqlx::raw_sql(MIGRATION).execute(&pool).await?;
        let mut queue = AsyncQueue::builder().uri(database).max_pool_size(20_u32).build();
        queue.connect().await?;
        Ok(Self { pool, queue })
    }

    async fn analyze(&self) -> Result<()> {
        sqlx::query("ANALYZE").execute(&self.pool).await?;
        Ok(())
    }

    async fn publish(&self, jobs: Vec<Payload>) -> Result<()> {
        for job in jobs {
            self.enqueue(job).await?;
        }
        Ok(())
    }

    async fn bulk(&self, numbers: Range<u64>) -> Result<()> {
        let next = Arc::new(AtomicU64::new(numbers.start));
        let mut inserts = JoinSet::new();
        for _ in 0..PUBLISHERS {
            inserts.spawn(insert_until(self.queue.clone(), Arc::clone(&next), numbers.end));
        }
        while let Some(insert) = inserts.join_next().await {
            insert??;
        }
        Ok(())
    }

    async fn enqueue(&self, job: Payload) -> Result<()> {
        self.queue.insert_task(&Job(job)).await?;
        Ok(())
    }

    // README, "Starting workers" and "Configuring sleep values"; the default is a sleep of five seconds.
    async fn work(&self) -> Result<()> {
        let sleep_params = SleepParams {
            sleep_period: Duration::from_millis(20),
            max_sleep_period: Duration::from_millis(100),
            min_sleep_period: Duration::from_millis(20),
            sleep_step: Duration::from_millis(20),
        };
        let mut workers: AsyncWorkerPool<AsyncQueue> = AsyncWorkerPool::builder()
            .queue(self.queue.clone())
            .number_of_workers(16_u32)
            .sleep_params(sleep_params)
            .retention_mode(RetentionMode::RemoveFinished)
            .build();
        workers.start().await;
        Ok(())
    }

    async fn unfinished(&self) -> Result<i64> {
        Ok(sqlx::query_scalar("SELECT count(*) FROM fang_tasks").fetch_one(&self.pool).await?)
    }
}

async fn insert_until(queue: AsyncQueue, next: Arc<AtomicU64>, end: u64) -> Result<()> {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= end {
            return Ok(());
        }
        queue.insert_task(&Job(Payload::new(number))).await?;
    }
}

fn main() -> ExitCode {
    protocol::run::<Fang>()
}
