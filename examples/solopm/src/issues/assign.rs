//! Who works on an issue.

use outbox::Changes;
use sqlx::PgConnection;

use super::{Issue, find_for_update};
use crate::context::Emit;
use crate::events::{IssueAssigned, IssueUnassigned};
use crate::ids::UserId;
use crate::projects::Project;
use crate::refused::{Refused, Result};

#[derive(Changes)]
struct Assignee {
    assignee_id: Option<UserId>,
}

/// Has a member of the project work on an issue. Nothing is said where they do already.
///
/// # Errors
/// When it is gone, when they do not belong to the project, or the database refuses.
pub async fn assign(tx: &mut PgConnection, project: &Project, number: i32, assignee: UserId) -> Result<Issue> {
    let before = find_for_update(tx, project.id, number).await?;
    // Locked until the commit: nobody who is shown out at this moment gets work.
    let member = "select 1 from solopm.members where project_id = $1 and user_id = $2 for share";
    let member = sqlx::query(member).bind(project.id).bind(assignee).fetch_optional(&mut *tx).await?;
    member.ok_or(Refused::NotFound("member"))?;
    let changes = written(tx, &before, Some(assignee)).await?;
    if changes.is_empty() {
        return Ok(before);
    }
    let after = Issue { assignee_id: Some(assignee), ..before };
    IssueAssigned { id: after.id, shown: after.shown(project), assignee, changes }.emit(tx, project.id).await?;
    Ok(after)
}

/// Has nobody work on an issue. Nothing is said where nobody does.
///
/// # Errors
/// When it is gone, or the database refuses.
pub async fn unassign(tx: &mut PgConnection, project: &Project, number: i32) -> Result<Issue> {
    let before = find_for_update(tx, project.id, number).await?;
    let Some(assignee) = before.assignee_id else { return Ok(before) };
    let changes = written(tx, &before, None).await?;
    let after = Issue { assignee_id: None, ..before };
    IssueUnassigned { id: after.id, shown: after.shown(project), assignee, changes }.emit(tx, project.id).await?;
    Ok(after)
}

async fn written(tx: &mut PgConnection, before: &Issue, assignee_id: Option<UserId>) -> Result<Changes> {
    let update = sqlx::query("update solopm.issues set assignee_id = $2 where id = $1");
    update.bind(before.id).bind(assignee_id).execute(tx).await?;
    Ok(Changes::between(&Assignee { assignee_id: before.assignee_id }, &Assignee { assignee_id })?)
}
