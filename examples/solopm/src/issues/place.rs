//! Where an issue stands: in the order, under an epic, under another issue.

use outbox::Changes;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::{Issue, find_for_update};
use crate::context::Emit;
use crate::events::IssueMoved;
use crate::ids::{EpicId, IssueId};
use crate::projects::Project;
use crate::refused::{Refused, Result};

/// A place.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, Changes, sqlx::FromRow)]
pub struct Place {
    /// In the order of those of the same status, smallest first; free numbers lie between.
    pub rank: i64,
    /// Under which epic.
    pub epic_id: Option<EpicId>,
    /// Under which other issue.
    pub parent_id: Option<IssueId>,
}

/// Moves an issue. However much of its place changes at once, it is one event.
///
/// # Errors
/// When it is gone, when epic or parent are not of the project, or the database refuses.
pub async fn move_to(tx: &mut PgConnection, project: &Project, number: i32, place: Place) -> Result<Issue> {
    let before = find_for_update(tx, project.id, number).await?;
    let changes = Changes::between(&before.place, &place)?;
    if changes.is_empty() {
        return Ok(before);
    }
    let update = sqlx::query(include_str!("place.sql")).bind(before.id).bind(project.id);
    let update = update.bind(place.rank).bind(place.epic_id).bind(place.parent_id);
    if update.execute(&mut *tx).await?.rows_affected() == 0 {
        return Err(Refused::Invalid("epic and parent belong to the same project".to_owned()));
    }
    let after = Issue { place, ..before };
    IssueMoved { id: after.id, shown: after.shown(project), changes }.emit(tx, project.id).await?;
    Ok(after)
}
