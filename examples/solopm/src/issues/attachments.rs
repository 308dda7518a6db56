//! Files at an issue. The content is kept once, by its hash; what no file names any more, the cull removes.

use sqlx::PgConnection;

use super::find_for_update;
use crate::context::Emit;
use crate::events::{AttachmentDeleted, AttachmentUploaded};
use crate::ids::AttachmentId;
use crate::projects::Project;
use crate::refused::{Refused, Result};

/// Puts a file at an issue.
///
/// # Errors
/// When the issue is gone, when the file has no name, or the database refuses.
pub async fn upload_attachment(
    tx: &mut PgConnection,
    project: &Project,
    number: i32,
    file_name: &str,
    content: &[u8],
) -> Result<AttachmentId> {
    let issue = find_for_update(tx, project.id, number).await?;
    let insert = sqlx::query_scalar(include_str!("upload.sql")).bind(issue.id).bind(file_name).bind(content);
    let id = insert.fetch_one(&mut *tx).await?;
    let (shown, file_name) = (issue.shown(project), file_name.to_owned());
    AttachmentUploaded { id, shown, file_name, bytes: content.len() }.emit(tx, project.id).await?;
    Ok(id)
}

/// Takes a file away.
///
/// # Errors
/// When either is gone, or the database refuses.
pub async fn delete_attachment(tx: &mut PgConnection, project: &Project, number: i32, id: AttachmentId) -> Result<()> {
    let issue = find_for_update(tx, project.id, number).await?;
    let delete = "delete from solopm.attachments where id = $1 and issue_id = $2 returning file_name";
    let name: Option<String> = sqlx::query_scalar(delete).bind(id).bind(issue.id).fetch_optional(&mut *tx).await?;
    let file_name = name.ok_or(Refused::NotFound("attachment"))?;
    AttachmentDeleted { id, shown: issue.shown(project), file_name }.emit(tx, project.id).await?;
    Ok(())
}
