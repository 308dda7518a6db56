//! Asks the database.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use sqlx::postgres::{PgConnectOptions, PgRow};
use sqlx::{Connection as _, Executor as _, PgConnection, PgPool, Row as _};
use uuid::Uuid;

use super::audit::{Service, Step, What, WorkerStep, WorkerWhat};
use super::{Effect, History, JobKey, Stored};
use crate::ledger;

/// Longest wait for a connection, and for the answer to a question while faults go on: a table that is locked has none.
const ANSWER: Duration = Duration::from_secs(5);
/// Longest wait for each part of the whole history.
const PART: Duration = Duration::from_mins(2);

/// The outbox's tables, and those of this crate.
///
/// # Errors
/// When the database refuses.
pub async fn prepare(url: &str) -> anyhow::Result<()> {
    let pool = PgPool::connect(url).await?;
    outbox::migrate(&pool).await?;
    pool.execute(sqlx::raw_sql(include_str!("audit.sql"))).await?;
    pool.close().await;
    Ok(())
}

/// What is left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Jobs that have not ended, and failed ones that are to be redriven.
    pub jobs: u64,
    /// How far the audit trail is.
    pub steps: i64,
}

/// Asks what is left; failed jobs of `failing` handlers stay failed.
///
/// # Errors
/// When the database does not answer.
pub async fn work_left(url: &str, failing: &[&str]) -> anyhow::Result<Work> {
    let text = "select (select count(*) from system.job_live) \
                     + (select count(*) from system.job_failed where job_type <> all ($1)), \
                       (select last_value from chaos.no)";
    asked(async {
        let row = sqlx::query(text).bind(failing).fetch_one(&mut connect(url, ANSWER).await?).await?;
        Ok(Work { jobs: u64::try_from(row.try_get::<i64, _>(0)?)?, steps: row.try_get(1)? })
    })
    .await
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    live: i64,
    succeeded: i64,
    failed: i64,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} succeeded, {} live, {} failed", self.succeeded, self.live, self.failed)
    }
}

/// Asks how far it is.
///
/// # Errors
/// When the database does not answer.
pub async fn progress(url: &str) -> anyhow::Result<Progress> {
    let text = "select (select count(*) from system.job_live), (select count(*) from system.job_succeeded), \
                       (select count(*) from system.job_failed)";
    asked(async {
        let row = sqlx::query(text).fetch_one(&mut connect(url, ANSWER).await?).await?;
        Ok(Progress { live: row.try_get(0)?, succeeded: row.try_get(1)?, failed: row.try_get(2)? })
    })
    .await
}

/// The moment of the last step that is there, in microseconds: what was answered as committed before it is there too, because
/// its commit stands before that step's in the log that a replica follows.
///
/// # Errors
/// When the database does not answer.
pub async fn last_survived(url: &str) -> anyhow::Result<i64> {
    let text = "select coalesce((extract(epoch from max(at)) * 1000000)::bigint, 0) from chaos.step";
    asked(async { Ok(sqlx::query_scalar(text).fetch_one(&mut connect(url, ANSWER).await?).await?) }).await
}

/// A connection past the proxies, whose statements take at most `limit`.
pub(crate) async fn connect(url: &str, limit: Duration) -> anyhow::Result<PgConnection> {
    let options: PgConnectOptions = url.parse()?;
    let limit = limit.as_millis().to_string();
    let options = options.application_name("conductor").options([("statement_timeout", limit)]);
    Ok(tokio::time::timeout(ANSWER, PgConnection::connect_with(&options)).await??)
}

/// Asks, and does not wait for ever: a server that is gone without a word keeps no limit of its own.
async fn asked<T>(asking: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::time::timeout(ANSWER * 3, asking).await.context("the database does not answer")?
}

impl History {
    /// Everything that the database and the ledgers of this folder say.
    ///
    /// # Errors
    /// When one of them cannot be read.
    pub async fn gather(url: &str, folder: &Path) -> anyhow::Result<Self> {
        let mut history = Self::default();
        history.take_ledgers(ledger::read(folder).context("the ledgers")?);
        let mut connection = connect(url, PART).await?;
        let mut names = Names::default();
        history.business = business(&mut connection).await?;
        history.messages = messages(&mut connection).await?;
        history.effects = effects(&mut connection, &mut names).await?;
        history.counted = counted(&mut connection, &mut names).await?;
        history.workers = workers(&mut connection, &mut names).await?;
        history.steps = steps(&mut connection, &mut names).await?;
        Ok(history)
    }
}

/// Each name once.
#[derive(Default)]
struct Names(HashMap<String, Arc<str>>);

impl Names {
    fn of(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return Arc::clone(known);
        }
        let new: Arc<str> = name.into();
        self.0.insert(name.to_owned(), Arc::clone(&new));
        new
    }
}

async fn business(connection: &mut PgConnection) -> anyhow::Result<HashMap<String, u64>> {
    let rows = sqlx::query("select tx, count(*) from chaos.business group by tx").fetch_all(connection).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, u64::try_from(row.try_get::<i64, _>(1)?)?))).collect()
}

/// A command is stored as its job, whatever became of that.
async fn messages(connection: &mut PgConnection) -> anyhow::Result<Vec<Stored>> {
    let text = "select id, event_type, payload->>'label' from system.event \
                union all select id, job_type, payload->>'label' from system.job where event_id is null";
    let rows = sqlx::query(text).fetch_all(connection).await?;
    rows.iter().map(|row| Ok(Stored { id: row.try_get(0)?, kind: row.try_get(1)?, label: row.try_get(2)? })).collect()
}

async fn effects(connection: &mut PgConnection, names: &mut Names) -> anyhow::Result<Vec<Effect>> {
    let rows = sqlx::query("select handler, source, claim from chaos.effect").fetch_all(connection).await?;
    let effect = |row: &PgRow| Ok(Effect { job: key(names, row, 0)?, claim: row.try_get(2)? });
    rows.iter().map(effect).collect()
}

async fn counted(connection: &mut PgConnection, names: &mut Names) -> anyhow::Result<HashMap<JobKey, u64>> {
    let rows = sqlx::query("select handler, source, times from chaos.counted").fetch_all(connection).await?;
    rows.iter().map(|row| Ok((key(names, row, 0)?, u64::try_from(row.try_get::<i32, _>(2)?)?))).collect()
}

async fn workers(connection: &mut PgConnection, names: &mut Names) -> anyhow::Result<Vec<WorkerStep>> {
    let rows =
        sqlx::query("select no, what, worker, node from chaos.worker_step order by no").fetch_all(connection).await?;
    let step = |row: &PgRow| {
        let what = match row.try_get::<&str, _>(1)? {
            "registered" => WorkerWhat::Registered,
            "died" => WorkerWhat::Died,
            _ => WorkerWhat::Removed,
        };
        Ok(WorkerStep { no: row.try_get(0)?, what, worker: row.try_get(2)?, node: names.of(row.try_get(3)?) })
    };
    rows.iter().map(step).collect()
}

async fn steps(connection: &mut PgConnection, names: &mut Names) -> anyhow::Result<Vec<Step>> {
    let text = "select no, xid::text, node, service, what, job, job_type, source, status = 'running', claim, worker, attempts, \
                       most, crashes, was is not distinct from 'running', had, reason \
                from chaos.step order by no";
    let rows = sqlx::query(text).fetch_all(connection).await?;
    rows.iter().map(|row| step(names, row)).collect()
}

fn step(names: &mut Names, row: &PgRow) -> anyhow::Result<Step> {
    let word: &str = row.try_get(4)?;
    let node: Option<&str> = row.try_get(2)?;
    let reason: Option<&str> = row.try_get(16)?;
    Ok(Step {
        no: row.try_get(0)?,
        xid: row.try_get::<&str, _>(1)?.parse()?,
        node: node.filter(|name| !name.is_empty()).map(|name| names.of(name)),
        service: match row.try_get::<Option<&str>, _>(3)?.unwrap_or_default() {
            "outbox claim" => Service::Claim,
            "outbox settle" => Service::Settle,
            "outbox upkeep" => Service::Upkeep,
            _ => Service::Pool,
        },
        what: What::of(word).with_context(|| format!("a step `{word}`"))?,
        job: row.try_get(5)?,
        key: key(names, row, 6)?,
        running: row.try_get(8)?,
        claim: row.try_get(9)?,
        worker: row.try_get(10)?,
        attempts: row.try_get(11)?,
        most: row.try_get(12)?,
        crashes: row.try_get(13)?,
        before: (row.try_get(14)?, row.try_get(15)?),
        reason: reason.map(|reason| names.of(reason)),
    })
}

/// A handler's name and a source, which stand beside each other.
fn key(names: &mut Names, row: &PgRow, place: usize) -> anyhow::Result<JobKey> {
    Ok(JobKey { handler: names.of(row.try_get(place)?), source: row.try_get::<Uuid, _>(place + 1)? })
}
