//! An operator at work: looks at failed jobs, mends what made them fail, and gives them a new life; and retires a subscriber or activates it,
//! so that no publisher knows the catalogue for long.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use outbox::Outbox;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::Run;
use crate::ledger::Ledger;
use crate::load::FAILING;
use crate::node;

/// Between two looks.
const EVERY: Duration = Duration::from_secs(1);
/// Longest statement: a table that is locked is left for the next look.
const STATEMENT: &str = "5s";
/// Longest wait for a look, and for the operator's beginning and end.
const PATIENCE: Duration = Duration::from_secs(30);

/// A subscriber that nobody runs, of an event that nobody publishes.
const PASSING: &str = "operator.passing";

/// The operator, until it is told to stop.
pub(super) struct Operator {
    stop: watch::Sender<bool>,
    work: JoinHandle<()>,
}

impl Operator {
    pub(super) async fn start(run: &Arc<Run>, ledger: &Ledger) -> anyhow::Result<Self> {
        let stop = watch::Sender::new(false);
        let outbox = timeout(PATIENCE, outbox(&run.cluster.url(), ledger)).await.context("the operator's outbox")??;
        let work = tokio::spawn(work(Arc::clone(run), outbox, ledger.clone(), stop.subscribe()));
        Ok(Self { stop, work })
    }

    pub(super) async fn stop(self) {
        self.stop.send_replace(true);
        let mut work = self.work;
        if timeout(PATIENCE, &mut work).await.is_err() {
            work.abort();
        }
    }
}

async fn work(run: Arc<Run>, mut outbox: Outbox, ledger: Ledger, mut stopped: watch::Receiver<bool>) {
    let mut url = run.cluster.url();
    loop {
        tokio::select! {
            _ = stopped.wait_for(|stop| *stop) => return,
            () = sleep(EVERY) => {}
        }
        if run.cluster.url() != url {
            match timeout(PATIENCE, self::outbox(&run.cluster.url(), &ledger)).await {
                Ok(Ok(moved)) => (outbox, url) = (moved, run.cluster.url()),
                _ => continue,
            }
        }
        // The database may be away.
        let _ = timeout(PATIENCE, another_edition(&outbox)).await;
        let _ = timeout(PATIENCE, round(&outbox)).await;
    }
}

async fn round(outbox: &Outbox) -> anyhow::Result<()> {
    for job in outbox.failed(1_000).await? {
        if FAILING.contains(&job.handler.as_str()) {
            continue;
        }
        let source = job.event_id.map_or(job.id.as_uuid(), outbox::EventId::as_uuid);
        let text = "insert into chaos.pardon (source) values ($1) on conflict do nothing";
        sqlx::query(text).bind(source).execute(outbox.pool()).await?;
        outbox.redrive(job.id).await?;
    }
    Ok(())
}

/// Activates the passing subscriber where it is retired, and the other way round.
async fn another_edition(outbox: &Outbox) -> anyhow::Result<()> {
    let text = "insert into system.subscription as s (handler, source, kind, max_attempts, priority)
                values ($1, 'nobody.says', 'event', 1, 1)
                on conflict (handler) do update set handler = excluded.handler returning s.retired_at is null";
    let active: bool = sqlx::query_scalar(text).bind(PASSING).fetch_one(outbox.pool()).await?;
    if active {
        outbox.retire(PASSING).await?;
    } else {
        outbox.activate(PASSING).await?;
    }
    Ok(())
}

async fn outbox(url: &str, ledger: &Ledger) -> anyhow::Result<Outbox> {
    let options: PgConnectOptions = url.parse()?;
    let options = options.application_name("operator").options([("statement_timeout", STATEMENT)]);
    let pool = PgPoolOptions::new().max_connections(2).acquire_timeout(Duration::from_secs(3));
    let pool: PgPool = pool.connect_lazy_with(options);
    Ok(node::builder(&pool, ledger).name("operator").build().await?)
}
