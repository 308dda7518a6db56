//! settle: what became of running jobs, a batch in one statement, fenced by each job's claim.

use std::time::Duration;

use outbox_core::JobId;
use outbox_core::transition::Next;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::{Statements, millis};

/// What became of one job.
#[derive(Debug, Clone)]
pub(crate) struct Settlement {
    pub(crate) job_id: JobId,
    pub(crate) claim_id: Uuid,
    pub(crate) next: Next,
    /// Sanitised and bounded.
    pub(crate) error: Option<String>,
    pub(crate) ran: Duration,
}

/// The words that the statement tells outcomes apart by.
fn outcome(next: Next) -> &'static str {
    match next {
        Next::Succeeded(_) => "succeeded",
        Next::Failed(_) => "failed",
        Next::Retry(_) => "retry",
        Next::Snooze(_) => "snooze",
        Next::Return => "return",
    }
}

fn delay(next: Next) -> i64 {
    match next {
        Next::Retry(delay) | Next::Snooze(delay) => millis(delay),
        Next::Succeeded(_) | Next::Failed(_) | Next::Return => 0,
    }
}

fn reason(next: Next) -> Option<&'static str> {
    match next {
        Next::Succeeded(reason) => reason.map(outbox_core::transition::Reason::as_str),
        Next::Failed(reason) => Some(reason.as_str()),
        Next::Retry(_) | Next::Snooze(_) | Next::Return => None,
    }
}

impl Settlement {
    /// Whether nothing is to be written but that it succeeded. Such outcomes have a statement of their own.
    pub(crate) fn is_plain(&self) -> bool {
        self.next == Next::Succeeded(None) && self.error.is_none()
    }
}

/// Which jobs of a batch were settled. One that is missing was not ours any more: rescued, cancelled, or settled before.
#[derive(Debug)]
pub(crate) enum Settled {
    All,
    These(Vec<JobId>),
}

pub(crate) async fn settle(
    connection: &mut PgConnection,
    statements: &Statements,
    batch: &[Settlement],
) -> Result<Settled, sqlx::Error> {
    let ids: Vec<_> = batch.iter().map(|one| one.job_id.as_uuid()).collect();
    let claim_ids: Vec<_> = batch.iter().map(|one| one.claim_id).collect();
    if batch.iter().all(Settlement::is_plain) {
        let row = sqlx::query(statements.settle_done.text()).bind(ids).bind(claim_ids).fetch_one(connection).await?;
        let these: Option<Vec<Uuid>> = row.try_get(1)?;
        return Ok(these.map_or(Settled::All, |these| Settled::These(these.into_iter().map(JobId::from).collect())));
    }
    let rows = sqlx::query(statements.settle.text())
        .bind(ids)
        .bind(claim_ids)
        .bind(batch.iter().map(|one| outcome(one.next)).collect::<Vec<_>>())
        .bind(batch.iter().map(|one| delay(one.next)).collect::<Vec<_>>())
        .bind(batch.iter().map(|one| reason(one.next)).collect::<Vec<_>>())
        .bind(batch.iter().map(|one| one.error.as_deref()).collect::<Vec<_>>())
        .bind(batch.iter().map(|one| millis(one.ran)).collect::<Vec<_>>())
        .fetch_all(connection)
        .await?;
    if rows.len() == batch.len() {
        return Ok(Settled::All);
    }
    let these = rows.iter().map(|row| Ok(JobId::from(row.try_get::<Uuid, _>(0)?)));
    Ok(Settled::These(these.collect::<Result<_, sqlx::Error>>()?))
}
