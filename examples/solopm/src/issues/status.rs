//! An issue is taken up, finished, or opened again.

use outbox::Changes;
use sqlx::PgConnection;

use super::{Issue, find_for_update};
use crate::context::Emit;
use crate::events::IssueStatusChanged;
use crate::projects::Project;
use crate::refused::Result;

#[derive(Changes)]
struct Status {
    status: String,
}

/// Gives an issue another status. Nothing is said where it has that one.
///
/// # Errors
/// When it is gone, when there is no such status, or the database refuses.
pub async fn set_status(tx: &mut PgConnection, project: &Project, number: i32, status: &str) -> Result<Issue> {
    let before = find_for_update(tx, project.id, number).await?;
    let changes = Changes::between(&Status { status: before.status.clone() }, &Status { status: status.to_owned() })?;
    if changes.is_empty() {
        return Ok(before);
    }
    let update = sqlx::query("update solopm.issues set status = $2 where id = $1");
    update.bind(before.id).bind(status).execute(&mut *tx).await?;
    let after = Issue { status: status.to_owned(), ..before };
    IssueStatusChanged { id: after.id, shown: after.shown(project), changes }.emit(tx, project.id).await?;
    Ok(after)
}
