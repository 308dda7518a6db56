//! What the tests of the worker side share: messages that carry their own script, workers beside the test, and a look into
//! the tables.

mod handlers;
mod stage;

use std::io::Write as _;
use std::time::{Duration, Instant};

use outbox::prelude::*;
use outbox::{EventId, OutboxBuilder, Registry, RunError};
use outbox_testing::{JobRow, Sandbox, eventually};
use sqlx::types::Uuid;
use sqlx::{AssertSqlSafe, PgPool, Row as _};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub use self::stage::{Asked, Do, Followed, Letter, Stage, fail, wait};

/// A test's sandbox with a table of effects, and the stage of its handlers.
pub struct Floor {
    pub sandbox: Sandbox,
    pub stage: Stage,
}

/// The shortest lease there is.
pub const LEASE: Duration = Duration::from_secs(2);

impl Floor {
    pub async fn new() -> Self {
        let sandbox = Sandbox::new().await;
        sandbox.execute("create table :schema.done (handler text not null, label text not null)").await;
        let stage = Stage::new(sandbox.table("done"), false);
        Self { sandbox, stage }
    }

    /// An outbox that links these handlers and no others, quick to poll, with a short lease.
    pub fn outbox(&self, handlers: &[&str]) -> OutboxBuilder {
        settings(self.sandbox.outbox(), handlers, self.stage.clone())
    }

    /// The same by way of another pool.
    pub fn outbox_on(&self, pool: PgPool, handlers: &[&str]) -> OutboxBuilder {
        settings(self.sandbox.outbox_on(pool), handlers, self.stage.clone())
    }

    /// A worker that links these handlers, running beside the test.
    pub async fn worker(&self, handlers: &[&str]) -> Worker {
        Worker::start(self.outbox(handlers).build().await.unwrap())
    }

    /// The job of an event and a handler.
    pub async fn job(&self, handler: &str, event: EventId) -> JobRow {
        let jobs = self.sandbox.jobs().await.of(handler);
        let job = jobs.0.iter().find(|job| job.event_id == Some(event));
        job.unwrap_or_else(|| panic!("no job of {handler} for {event}")).clone()
    }

    /// Waits until a job is in this status.
    pub async fn until(&self, handler: &str, event: EventId, status: &str) -> JobRow {
        eventually(&format!("the job of {handler} is {status}"), async || {
            Some(self.job(handler, event).await).filter(|job| job.status == status)
        })
        .await
    }

    /// Waits until no job is pending or running.
    pub async fn until_settled(&self) -> outbox_testing::Jobs {
        eventually("every job is settled", async || Some(self.sandbox.jobs().await).filter(|jobs| jobs.live() == 0))
            .await
    }

    /// Waits until a handler began for a label, so many times in all.
    pub async fn until_begun(&self, handler: &str, label: &str, times: usize) {
        eventually(&format!("{handler} began {times} times for {label}"), async || {
            (self.stage.executions(handler, label) >= times).then_some(())
        })
        .await;
    }

    /// Waits until a query answers this number.
    pub async fn until_number(&self, sql: &str, number: i64) {
        eventually(&format!("`{sql}` answers {number}"), async || {
            (self.sandbox.number(sql).await == number).then_some(())
        })
        .await;
    }

    pub async fn effects(&self, label: &str) -> i64 {
        self.sandbox.number(&format!("select count(*) from :schema.done where label = '{label}'")).await
    }

    /// The failed executions of a job in order: outcome and error.
    pub async fn history(&self, job: &JobRow) -> Vec<(String, Option<String>)> {
        let text =
            format!("select outcome, error from {} where job_id = $1 order by ended_at", self.sandbox.table("attempt"));
        let rows =
            sqlx::query(AssertSqlSafe(text)).bind(job.id.as_uuid()).fetch_all(self.sandbox.pool()).await.unwrap();
        rows.iter().map(|row| (row.get(0), row.get(1))).collect()
    }

    /// The text of a statement file with this schema filled in.
    pub fn fill(&self, text: &str) -> AssertSqlSafe<String> {
        AssertSqlSafe(text.replace(":schema.", &self.sandbox.table("")))
    }
}

pub fn settings(builder: OutboxBuilder, handlers: &[&str], stage: Stage) -> OutboxBuilder {
    builder
        .registry(Registry::linked().with_subscribers(|one| handlers.contains(&one.name)))
        .state(stage)
        .lease(LEASE)
        .poll_interval(Duration::from_millis(50))
        .shutdown_budget(Duration::from_millis(300))
}

/// Publishes in a transaction of its own.
pub async fn ask(outbox: &Outbox, label: &str, plan: impl Into<Vec<Do>>) -> EventId {
    let asked = Asked { label: label.to_owned(), plan: plan.into() };
    let mut tx = outbox.begin().await.unwrap();
    let published = outbox.publish(&mut tx, &asked).await.unwrap();
    tx.commit().await.unwrap();
    published.event_id
}

/// Publishes many in one transaction.
pub async fn ask_many(outbox: &Outbox, count: usize, plan: impl Into<Vec<Do>>) {
    let plan = plan.into();
    let asked: Vec<_> = (0..count).map(|n| Asked { label: format!("n{n}"), plan: plan.clone() }).collect();
    let mut tx = outbox.begin().await.unwrap();
    outbox.publish_all(&mut tx, &asked).await.unwrap();
    tx.commit().await.unwrap();
}

/// A worker beside the test.
pub struct Worker {
    pub outbox: Outbox,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), RunError>>,
}

impl Worker {
    pub fn start(outbox: Outbox) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let running = outbox.clone();
        let task = tokio::spawn(async move { running.run(async { drop(stopped.await) }).await });
        Self { outbox, stop: Some(stop), task }
    }

    /// Asks it to end, and answers how long that took.
    pub async fn stop(mut self) -> Duration {
        let asked = Instant::now();
        drop(self.stop.take());
        self.task.await.unwrap().unwrap();
        asked.elapsed()
    }

    /// As `stop`, without waiting.
    pub fn ask_to_stop(&mut self) {
        drop(self.stop.take());
    }

    pub fn has_ended(&self) -> bool {
        self.task.is_finished()
    }
}

/// A line for the parent process.
pub fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody hears it any more: then the parent is gone, and this process ends by itself soon.
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// The ids of the workers that stand registered and not dead.
pub async fn living_workers(floor: &Floor) -> Vec<Uuid> {
    let text = format!("select id from {} where dead_at is null order by started_at", floor.sandbox.table("worker"));
    sqlx::query_scalar(AssertSqlSafe(text)).fetch_all(floor.sandbox.pool()).await.unwrap()
}

/// A value that panics when it is dropped.
pub struct Explosive;

impl Drop for Explosive {
    fn drop(&mut self) {
        // A second panic on top of one would end the process.
        assert!(std::thread::panicking(), "a value that panics when it is dropped");
    }
}
