//! An index that was lost is made again from the rows.

use outbox::prelude::*;

use super::route::Op;
use super::{DocId, SearchSync, Shelf};
use crate::refused::Result;

/// Enqueues a job for every document that there is. For a new, empty index; harmless for any other.
///
/// # Errors
/// When the database does.
pub async fn rebuild(outbox: &Outbox) -> Result<usize> {
    let mut tx = outbox.begin().await?;
    let mut jobs = 0;
    for (index, ids) in [
        (Shelf::Projects, "select id from solopm.projects"),
        (Shelf::Epics, "select id from solopm.epics"),
        (Shelf::Issues, "select id from solopm.issues"),
        (Shelf::Comments, "select id from solopm.comments"),
        (Shelf::Pages, "select id from solopm.pages"),
    ] {
        for id in sqlx::query_scalar(ids).fetch_all(&mut *tx).await? {
            outbox.enqueue(&mut tx, &SearchSync { doc: DocId { index, id }, op: Op::Upsert }).await?;
            jobs += 1;
        }
    }
    tx.commit().await?;
    Ok(jobs)
}
