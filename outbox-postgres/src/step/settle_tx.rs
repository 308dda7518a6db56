//! settle of a handler that took the transaction: mark and completion in that same transaction, before its commit.

use outbox_core::EventId;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::Statements;
use super::claim::Claimed;

/// Whether the transaction may be committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TxSettled {
    /// Yes: effect, mark and completion become visible together.
    Ready,
    /// No: the job is no longer ours, so somebody else runs it or has run it.
    LeaseLost,
    /// No: the effect was already there.
    Duplicate,
    /// No: the handler ended the transaction that it was given.
    NotTheSame,
}

pub(crate) async fn settle_tx(
    connection: &mut PgConnection,
    statements: &Statements,
    job: &Claimed,
    mark_name: &str,
    transaction: Uuid,
) -> Result<TxSettled, sqlx::Error> {
    let effect: EventId = job.effect_id();
    let row = sqlx::query(statements.settle_tx.text())
        .bind(job.job_id.as_uuid())
        .bind(job.claim_id)
        .bind(mark_name)
        .bind(effect.as_uuid())
        .bind(transaction)
        .fetch_one(connection)
        .await?;
    let (same, marked, settled): (bool, bool, bool) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    Ok(match (same, settled, marked) {
        (false, _, _) => TxSettled::NotTheSame,
        (_, false, _) => TxSettled::LeaseLost,
        (_, _, false) => TxSettled::Duplicate,
        (true, true, true) => TxSettled::Ready,
    })
}

/// Whether this is still the transaction of this name. A transaction that a failed statement aborted answers nothing any more, and
/// counts as the same.
pub(crate) async fn is_the_same(connection: &mut PgConnection, transaction: Uuid) -> bool {
    let name = sqlx::query("select coalesce(current_setting('outbox.claim', true), '')").fetch_one(connection).await;
    name.and_then(|row| row.try_get::<String, _>(0)).map_or(true, |name| name == transaction.to_string())
}

/// How such a transaction begins: it has a name, which its settle checks, and the server bounds it, so that a process that freezes does not
/// hold its row locks for ever. One round trip.
pub(crate) fn begin(name: Uuid, timeout: std::time::Duration) -> String {
    let bound = timeout.as_millis().saturating_add(1_000).min(i32::MAX as u128);
    format!(
        "begin; set local outbox.claim = '{name}'; set local statement_timeout = {bound}; \
         set local idle_in_transaction_session_timeout = {bound}"
    )
}
