//! One transaction a job: effect, mark in the inbox and completion; claimed in batches by a connection beside.

use std::sync::Arc;
use std::time::Instant;

use sqlx::postgres::PgRow;
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::super::order::{AccountCredited, BOOK, ENTER, ENTRIES};
use super::super::seed::{self, Kind};
use super::super::tally::TALLY;
use super::super::{Cue, Settings};
use super::claim::claim;
use super::drain::all_succeeded;
use crate::protocol::Done;

pub(in super::super) async fn tx_drain(cue: Cue, settings: &Settings) -> anyhow::Result<()> {
    let (jobs, connections) = (settings.number("jobs")?, settings.small("connections")?);
    let batch = settings.small("batch")?;
    seed::jobs(Kind::Credits, jobs).await?;
    let pool = super::prepared(1).await?;
    pool.execute(ENTRIES).await?;
    let mut claimer = PgConnection::connect_with(&super::options()?).await?;
    claim(&mut claimer, Uuid::new_v4(), Uuid::new_v4(), BOOK, 0).await?;
    let mut runners = Vec::new();
    for _ in 0..connections {
        runners.push(prepared_runner().await?);
    }
    cue.ready().await?;
    let began = Instant::now();
    TALLY.begin(jobs);
    let (queue, waiting) = mpsc::channel(batch as usize);
    let waiting = Arc::new(Mutex::new(waiting));
    let mut running = JoinSet::new();
    running.spawn(claim_all(claimer, i64::from(batch), queue));
    for runner in runners {
        running.spawn(run(runner, Arc::clone(&waiting)));
    }
    running.join_all().await.into_iter().collect::<anyhow::Result<()>>()?;
    let seconds = began.elapsed().as_secs_f64();
    all_succeeded(&pool, jobs).await?;
    cue.done(Done { seconds, jobs, steps: TALLY.steps(), ..Done::default() }).await
}

/// A claimed job.
struct Job {
    id: Uuid,
    claim_id: Uuid,
    event_id: Uuid,
    payload: String,
}

impl Job {
    fn read(row: &PgRow, claim_id: Uuid) -> Result<Self, sqlx::Error> {
        Ok(Self { id: row.try_get(0)?, claim_id, event_id: row.try_get(1)?, payload: row.try_get(3)? })
    }
}

/// Until nothing is left.
async fn claim_all(mut connection: PgConnection, batch: i64, queue: mpsc::Sender<Job>) -> anyhow::Result<()> {
    let worker = Uuid::new_v4();
    loop {
        let claim_id = Uuid::new_v4();
        let rows = claim(&mut connection, worker, claim_id, BOOK, batch).await?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in &rows {
            queue.send(Job::read(row, claim_id)?).await?;
        }
    }
}

/// Connected, and its statements prepared by a transaction that is rolled back.
async fn prepared_runner() -> anyhow::Result<PgConnection> {
    let mut connection = PgConnection::connect_with(&super::options()?).await?;
    let mut tx = connection.begin().await?;
    sqlx::query(ENTER).bind(0_i64).bind(0_i64).execute(&mut *tx).await?;
    settle(&mut tx, Uuid::nil(), Uuid::nil(), Uuid::nil()).await?;
    tx.rollback().await?;
    Ok(connection)
}

async fn run(mut connection: PgConnection, waiting: Arc<Mutex<mpsc::Receiver<Job>>>) -> anyhow::Result<()> {
    loop {
        let Some(job) = waiting.lock().await.recv().await else { return Ok(()) };
        let credited: AccountCredited = serde_json::from_str(&job.payload)?;
        let mut tx = connection.begin().await?;
        sqlx::query(ENTER).bind(credited.account.cast_signed()).bind(credited.cents).execute(&mut *tx).await?;
        let settled = settle(&mut tx, job.id, job.claim_id, job.event_id).await?;
        anyhow::ensure!(settled == 1, "a job was not settled");
        tx.commit().await?;
        TALLY.count(1);
    }
}

async fn settle(connection: &mut PgConnection, job: Uuid, claim_id: Uuid, event_id: Uuid) -> anyhow::Result<u64> {
    let settled = sqlx::query(include_str!("settle_tx.sql")).bind(job).bind(claim_id).bind(BOOK).bind(event_id);
    Ok(settled.execute(connection).await?.rows_affected())
}
