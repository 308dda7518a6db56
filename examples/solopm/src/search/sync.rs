//! The index holds a document as its row is.

use outbox::prelude::*;

use super::route::Op;
use super::{DocId, SearchIndex, SearchSync, Shelf, current};
use crate::ids::ProjectId;

/// Reads the row and writes the document, or removes it where there is no row: a job that comes late brings nothing back.
///
/// Two locks make racing jobs end at the newest row. That of the document lets one job at a time read and write it, and it
/// reads behind the lock. That of the row keeps it from being deleted before its document is written, so that the job of
/// the deletion, which can only come after it, finds the document there.
///
/// # Errors
/// When the index or the database refuses.
#[subscriber(job = "search.search_sync", max_attempts = 8, backoff = exponential("60s", max = "1h"), timeout = "30s")]
pub async fn search_sync(job: SearchSync, mut tx: Tx<'_>, State(index): State<SearchIndex>) -> HandlerResult {
    let DocId { index: shelf, id } = job.doc;
    let lock = sqlx::query("select pg_advisory_xact_lock(hashtextextended('solopm.search ' || $1, 0))");
    lock.bind(job.doc.to_string()).execute(&mut *tx).await?;
    match current::document(&mut tx, job.doc).await? {
        Some(document) => index.put(document).await?,
        None => index.remove(job.doc).await?,
    }
    if (shelf, job.op) == (Shelf::Projects, Op::Delete) {
        index.remove_project(ProjectId(id)).await?;
    }
    Ok(())
}
