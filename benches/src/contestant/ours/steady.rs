//! steady: so many events a second, whatever becomes of them; from the middle on a reader holds a snapshot.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use outbox::Outbox;
use sqlx::{Connection as _, Executor as _, PgConnection};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::sleep_until;

use super::super::bell::{self, PORCH};
use super::super::{Cue, Settings, database, pool, rhythm, seed};
use crate::protocol::Done;

const PUBLISHERS: u64 = 8;
/// What a reader's report does: it looks once, and keeps its snapshot.
const HOLD: &str = "begin isolation level repeatable read, read only; select count(*) from system.job_live";

pub(in super::super) async fn steady(cue: Cue, settings: &Settings) -> anyhow::Result<()> {
    let (jobs, rate) = (settings.number("jobs")?, settings.number("rate")?);
    seed::catalogue().await?;
    let pool = pool(database()?, u32::try_from(PUBLISHERS)? + 2).await?;
    let outbox = Outbox::builder(pool.clone()).modules([PORCH]).build().await?;
    let mut reader = PgConnection::connect_with(&database()?).await?;
    let mut heard = bell::listen()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let worker = outbox.clone();
    let running = tokio::spawn(async move { worker.run(async move { drop(stopped.await) }).await });
    for number in 0..rhythm::WARM_UP {
        bell::ring(&outbox, number).await?;
        heard.recv().await.context("the worker ended")?;
    }
    cue.ready().await?;
    let schedule = Schedule { begin: Instant::now(), jobs, rate };
    let mut publishing: JoinSet<anyhow::Result<()>> = JoinSet::new();
    for first in 0..PUBLISHERS {
        publishing.spawn(publish(outbox.clone(), schedule, first));
    }
    let holding = tokio::spawn(async move {
        sleep_until(schedule.due(jobs / 2).into()).await;
        reader.execute(sqlx::raw_sql(HOLD)).await.map(|_| reader)
    });
    let mut starts = Vec::new();
    while (starts.len() as u64) < jobs {
        starts.push(heard.recv().await.context("the worker ended")?);
    }
    let done = schedule.done(&starts)?;
    publishing.join_all().await.into_iter().collect::<anyhow::Result<()>>()?;
    holding.await??.close().await?;
    drop(stop);
    running.await??;
    cue.done(done).await
}

async fn publish(outbox: Outbox, schedule: Schedule, first: u64) -> anyhow::Result<()> {
    let mut number = first;
    while number < schedule.jobs {
        sleep_until(schedule.due(number).into()).await;
        bell::ring(&outbox, number).await?;
        number += PUBLISHERS;
    }
    Ok(())
}

/// When which event is to be published.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    begin: Instant,
    jobs: u64,
    /// Events a second.
    rate: u64,
}

impl Schedule {
    fn due(&self, number: u64) -> Instant {
        self.begin + Duration::from_nanos(number * 1_000_000_000 / self.rate)
    }

    /// Latencies count from the moment at which an event was to be published, so that nothing hides in a publisher that waits.
    fn done(&self, starts: &[bell::Heard]) -> anyhow::Result<Done> {
        let middle = self.jobs / 2;
        let half = |late: bool| starts.iter().filter(move |(number, _)| (*number >= middle) == late);
        let latencies =
            |late| half(late).map(|(number, start)| rhythm::milliseconds(self.due(*number), *start)).collect();
        let rate = |late: bool| {
            let last = half(late).map(|(_, start)| *start).max().context("a half without a job")?;
            let seconds = last.duration_since(self.due(if late { middle } else { 0 })).as_secs_f64();
            #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
            anyhow::Ok(half(late).count() as f64 / seconds)
        };
        let last = starts.iter().map(|(_, start)| *start).max().context("no job")?;
        Ok(Done {
            seconds: last.duration_since(self.begin).as_secs_f64(),
            jobs: self.jobs,
            steps: vec![rate(false)?, rate(true)?],
            latencies_ms: latencies(false),
            late_latencies_ms: latencies(true),
            ..Done::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_halves_are_told_apart_by_when_an_event_was_to_be_published() {
        let schedule = Schedule { begin: Instant::now(), jobs: 4, rate: 2 };
        let start = |number, late| (number, schedule.due(number) + Duration::from_millis(late));
        let done = schedule.done(&[start(1, 4), start(0, 2), start(3, 500), start(2, 8)]).unwrap();
        assert_eq!(done.latencies_ms.len(), 2);
        assert!(done.late_latencies_ms.iter().any(|late| (late - 500.0).abs() < 1e-6), "{done:?}");
        assert!((done.steps[0] - 2.0 / 0.504).abs() < 1e-6 && (done.steps[1] - 2.0).abs() < 1e-6, "{done:?}");
        assert!((done.seconds - 2.0).abs() < 1e-6);
    }
}
