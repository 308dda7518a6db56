//! Which issue waits for which.

use sqlx::PgConnection;

use super::find_for_update;
use crate::context::Emit;
use crate::events::{IssueBlockerAdded, IssueBlockerRemoved};
use crate::projects::Project;
use crate::refused::{Refused, Result};

/// From now on an issue waits for another of the project. Nothing is said where it does already.
///
/// # Errors
/// When either is gone or both are the same, or the database refuses.
pub async fn add_blocker(tx: &mut PgConnection, project: &Project, number: i32, blocker: i32) -> Result<()> {
    let (issue, other) = both(tx, project, number, blocker).await?;
    let insert = "insert into solopm.issue_blockers (issue_id, blocker_id) values ($1, $2) on conflict do nothing";
    if sqlx::query(insert).bind(issue.id).bind(other.id).execute(&mut *tx).await?.rows_affected() == 1 {
        IssueBlockerAdded { id: issue.id, shown: issue.shown(project), blocker }.emit(tx, project.id).await?;
    }
    Ok(())
}

/// It does not wait for that one any more. Nothing is said where it did not.
///
/// # Errors
/// When either is gone, or the database refuses.
pub async fn remove_blocker(tx: &mut PgConnection, project: &Project, number: i32, blocker: i32) -> Result<()> {
    let (issue, other) = both(tx, project, number, blocker).await?;
    let delete = "delete from solopm.issue_blockers where issue_id = $1 and blocker_id = $2";
    if sqlx::query(delete).bind(issue.id).bind(other.id).execute(&mut *tx).await?.rows_affected() == 1 {
        IssueBlockerRemoved { id: issue.id, shown: issue.shown(project), blocker }.emit(tx, project.id).await?;
    }
    Ok(())
}

/// Both issues, locked in the order of their numbers, so that two who mean the same pair do not wait for each other.
async fn both(
    tx: &mut PgConnection,
    project: &Project,
    number: i32,
    blocker: i32,
) -> Result<(super::Issue, super::Issue)> {
    if number == blocker {
        return Err(Refused::Invalid("an issue does not wait for itself".to_owned()));
    }
    let first = find_for_update(tx, project.id, number.min(blocker)).await?;
    let second = find_for_update(tx, project.id, number.max(blocker)).await?;
    Ok(if number < blocker { (first, second) } else { (second, first) })
}
