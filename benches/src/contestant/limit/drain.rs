//! Claims a batch, reads its payloads, and settles it, in two transactions, from several connections at once.

use std::time::Instant;

use sqlx::postgres::PgRow;
use sqlx::{Connection as _, PgConnection, PgPool, Row as _};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::super::order::HANDLERS;
use super::super::seed::{self, Kind};
use super::super::tally::TALLY;
use super::super::{Cue, Settings};
use super::claim::claim;
use super::settle::settle;
use crate::protocol::Done;

pub(in super::super) async fn drain(cue: Cue, settings: &Settings) -> anyhow::Result<()> {
    let (jobs, connections) = (settings.number("jobs")?, settings.small("connections")?);
    let batch = i64::from(settings.small("batch")?);
    seed::jobs(Kind::Orders, jobs).await?;
    let pool = super::prepared(1).await?;
    let mut workers = Vec::new();
    for number in 0..connections {
        workers.push(Worker::start(number as usize).await?);
    }
    cue.ready().await?;
    let began = Instant::now();
    TALLY.begin(jobs);
    let mut running = JoinSet::new();
    for worker in workers {
        running.spawn(worker.run(batch));
    }
    running.join_all().await.into_iter().collect::<anyhow::Result<()>>()?;
    let seconds = began.elapsed().as_secs_f64();
    all_succeeded(&pool, jobs).await?;
    cue.done(Done { seconds, jobs, steps: TALLY.steps(), ..Done::default() }).await
}

/// What was measured took place.
pub(in super::super) async fn all_succeeded(pool: &PgPool, jobs: u64) -> anyhow::Result<()> {
    let done: i64 = sqlx::query_scalar("select count(*) from system.job_succeeded").fetch_one(pool).await?;
    anyhow::ensure!(done.unsigned_abs() == jobs, "{done} of {jobs} jobs succeeded");
    Ok(())
}

struct Worker {
    connection: PgConnection,
    id: Uuid,
    /// Whose turn it is among the handlers.
    turn: usize,
}

impl Worker {
    /// Connected, and its statements prepared by a batch of none.
    async fn start(number: usize) -> anyhow::Result<Self> {
        let connection = PgConnection::connect_with(&super::options()?).await?;
        let mut worker = Self { connection, id: Uuid::new_v4(), turn: number };
        let (claim, _) = worker.claim(HANDLERS[0], 0).await?;
        settle(&mut worker.connection, claim, &[]).await?;
        Ok(worker)
    }

    /// Until no handler has anything left.
    async fn run(mut self, batch: i64) -> anyhow::Result<()> {
        let mut dry = 0;
        while dry < HANDLERS.len() {
            let handler = HANDLERS[self.turn % HANDLERS.len()];
            self.turn += 1;
            let (claim, jobs) = self.claim(handler, batch).await?;
            if jobs.is_empty() {
                dry += 1;
                continue;
            }
            dry = 0;
            let settled = settle(&mut self.connection, claim, &jobs).await?;
            anyhow::ensure!(settled == jobs.len() as u64, "{settled} of {} jobs were settled", jobs.len());
            TALLY.count(settled);
        }
        Ok(())
    }

    /// Its ids; the payload is fetched, and looked at no further.
    async fn claim(&mut self, handler: &str, most: i64) -> anyhow::Result<(Uuid, Vec<Uuid>)> {
        let claim_id = Uuid::new_v4();
        let rows = claim(&mut self.connection, self.id, claim_id, handler, most).await?;
        let job = |row: &PgRow| {
            let payload: &str = row.try_get(3)?;
            anyhow::ensure!(!payload.is_empty(), "a job without a payload");
            Ok(row.try_get(0)?)
        };
        Ok((claim_id, rows.iter().map(job).collect::<anyhow::Result<_>>()?))
    }
}
