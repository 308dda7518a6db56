//! An issue gets other words.

use outbox::Changes;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::{Issue, find_for_update};
use crate::context::Emit;
use crate::events::IssueUpdated;
use crate::mentions::new_mentions;
use crate::projects::Project;
use crate::refused::Result;

/// The words of an issue.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, Changes, sqlx::FromRow)]
pub struct Text {
    /// Its title.
    pub title: String,
    /// More about it, in Markdown.
    pub description: String,
}

/// Gives an issue another title or description. Nothing is said where nothing changes.
///
/// # Errors
/// When it is gone or would have no title, or the database refuses.
pub async fn update(tx: &mut PgConnection, project: &Project, number: i32, text: Text) -> Result<Issue> {
    let before = find_for_update(tx, project.id, number).await?;
    let changes = Changes::between(&before.text, &text)?;
    if changes.is_empty() {
        return Ok(before);
    }
    let update = sqlx::query("update solopm.issues set title = $2, description = $3 where id = $1");
    update.bind(before.id).bind(&text.title).bind(&text.description).execute(&mut *tx).await?;
    let mentions = new_mentions(&before.text.description, &text.description);
    let after = Issue { text, ..before };
    IssueUpdated { id: after.id, shown: after.shown(project), changes, mentions }.emit(tx, project.id).await?;
    Ok(after)
}
