//! Runs what is due until nothing is, then stops: for tests and one-off commands.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use outbox_core::transition::Risk;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::Running;
use super::lease_keeper::LeaseKeeper;
use super::roster::Roster;
use super::run_due::Executed;
use crate::error::RunError;
use crate::lane::{Lane, LaneError};
use crate::outbox::Outbox;
use crate::step::claim::{Claimed, Wanted};
use crate::step::run::{Execution, Ran, Signals};
use crate::step::run_batch::RunBatch;
use crate::{identity, step};

const STATEMENT_LIMIT: Duration = Duration::from_secs(10);
/// Most jobs of one claim.
const BATCH: i32 = 100;

/// What a drain did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drained {
    /// Executions that ended; a job that was retried at once counts each time, and each job of a batch.
    pub executions: u64,
}

/// Why a drain ended early.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DrainError {
    /// It could not start.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The lease was lost, so others run what is left.
    #[error("the lease was lost: this process was frozen, or could not renew it in time")]
    LeaseLost,
    /// The database did not answer, or refused a statement.
    #[error("the database refused a statement of the drain")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
}

crate::error::debug_is_for_people!(DrainError);

impl From<LaneError> for DrainError {
    fn from(error: LaneError) -> Self {
        Self::Database(error.into())
    }
}

/// One job at a time, or one batch, in the order of claims: a test that drains can rely on it.
pub(crate) async fn drain(outbox: &Outbox) -> Result<Drained, DrainError> {
    let executed = run_all(outbox, |lost| Signals::new(CancellationToken::new(), lost)).await?;
    Ok(Drained { executions: executed.len() as u64 })
}

/// The same, and what each execution came to.
pub(super) async fn run_all(
    outbox: &Outbox,
    signals: impl Fn(CancellationToken) -> Arc<Signals>,
) -> Result<Vec<Executed>, DrainError> {
    let _running = Running::claim(outbox)?;
    let roster = Roster::of(outbox);
    let mut lane = outbox.lane("drain");
    let (statements, config) = (outbox.statements(), outbox.config());
    let (worker, sent) = (identity::random(), Instant::now());
    let (name, ranges, lease) = (&config.name, roster.announced(), config.lease.length());
    lane.run(STATEMENT_LIMIT, async |c| step::register::register(c, statements, worker, name, &ranges, lease).await)
        .await?;
    let keeper = LeaseKeeper::start(outbox, worker, sent).map_err(RunError::Thread)?;
    let wanted = everything(&roster);
    let signals = signals(keeper.lost.clone());
    let mut executed = Vec::new();
    loop {
        let claim_id = identity::random();
        let mut jobs = lane
            .run(STATEMENT_LIMIT, async |c| {
                step::claim::claim(c, statements, worker, claim_id, &wanted).await?.read(&wanted)
            })
            .await?;
        if keeper.lost.is_cancelled() {
            return Err(DrainError::LeaseLost);
        }
        if jobs.is_empty() {
            break;
        }
        // What must not wait goes first.
        jobs.sort_by_key(|job| job.risk == Risk::None);
        let mut jobs = VecDeque::from(jobs);
        while let Some(call) = next_call(&roster, &mut jobs) {
            executed.append(&mut execute(outbox, &roster, &signals, call, &mut lane).await?);
        }
    }
    lane.run(STATEMENT_LIMIT, async |c| step::register::unregister(c, statements, worker).await).await?;
    lane.close().await;
    Ok(executed)
}

/// The first job, and those behind it that share its call.
fn next_call(roster: &Roster, jobs: &mut VecDeque<Claimed>) -> Option<Vec<Claimed>> {
    let first = jobs.pop_front()?;
    let handler = roster.number_of(first.job_type);
    let most = handler.filter(|_| first.risk == Risk::None).map_or(1, |handler| roster.batch(handler) as usize);
    let mut call = vec![first];
    let mut place = 0;
    while call.len() < most && place < jobs.len() {
        if jobs[place].risk == Risk::None && roster.number_of(jobs[place].job_type) == handler {
            call.extend(jobs.remove(place));
        } else {
            place += 1;
        }
    }
    Some(call)
}

async fn execute(
    outbox: &Outbox,
    roster: &Roster,
    signals: &Arc<Signals>,
    call: Vec<Claimed>,
    lane: &mut Lane,
) -> Result<Vec<Executed>, LaneError> {
    let Some(handler) = call.first().and_then(|job| roster.number_of(job.job_type)) else { return Ok(Vec::new()) };
    let handler = roster.handler(handler);
    let mut executed: Vec<_> = call.iter().map(|job| Executed::begun(handler, job)).collect();
    let execution = |job| Execution { outbox: outbox.clone(), handler, job, signals: Arc::clone(signals) };
    let mut executions = call.into_iter().map(execution);
    let ran: Vec<_> = match (handler.settings.batch, executions.next()) {
        (None, Some(only)) => {
            let (key, span) = (only.job.key(), only.span());
            vec![(key, only.run().instrument(span).await)]
        }
        (_, first) => {
            let batch = RunBatch(first.into_iter().chain(executions).collect());
            let span = batch.span();
            batch.run().instrument(span).await
        }
    };
    for one in &mut executed {
        if let Some((_, ran)) = ran.iter().find(|((job, _), _)| *job == one.job) {
            one.came_to(ran);
        }
    }
    let unsettled = |(_, ran)| if let Ran::Unsettled(settlement) = ran { Some(settlement) } else { None };
    let settlements: Vec<_> = ran.into_iter().filter_map(unsettled).collect();
    if !settlements.is_empty() {
        let statements = outbox.statements();
        lane.run(STATEMENT_LIMIT, async |c| step::settle::settle(c, statements, &settlements).await).await?;
    }
    Ok(executed)
}

fn everything(roster: &Roster) -> Wanted {
    let ranges = roster.ranges();
    let (job_types, versions) = roster.pairs();
    Wanted {
        job_types,
        versions,
        handlers: ranges.iter().map(|range| i32::try_from(range.handler).unwrap_or(i32::MAX)).collect(),
        limits: vec![BATCH; ranges.len()],
        free: vec![1; ranges.len()],
        modules: vec![0; ranges.len()],
        module_free: vec![1; ranges.len()],
        free_in_all: 1,
        crashed_too: true,
        most: BATCH,
        ..roster.blank()
    }
}
