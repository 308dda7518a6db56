//! Something is said about an issue, changed, settled, taken back.

use outbox::Changes;
use sqlx::PgConnection;

use super::Comment;
use crate::context::Emit;
use crate::events::{CommentCreated, CommentDeleted, CommentResolved, CommentUnresolved, CommentUpdated, ShownIssue};
use crate::ids::{CommentId, UserId};
use crate::issues;
use crate::mentions::{mentions, new_mentions};
use crate::projects::Project;
use crate::refused::{Refused, Result};

#[derive(Changes)]
struct Words {
    body: String,
}

/// Says something about an issue.
///
/// # Errors
/// When it is gone, when nothing is said, or the database refuses.
pub async fn create(
    tx: &mut PgConnection,
    project: &Project,
    number: i32,
    author: Option<UserId>,
    body: &str,
) -> Result<CommentId> {
    let issue = issues::find_for_update(tx, project.id, number).await?;
    let insert = "insert into solopm.comments (issue_id, author_id, body) values ($1, $2, $3) returning id";
    let id = sqlx::query_scalar(insert).bind(issue.id).bind(author).bind(body).fetch_one(&mut *tx).await?;
    CommentCreated { id, shown: issue.shown(project), mentions: mentions(body) }.emit(tx, project.id).await?;
    Ok(id)
}

/// Says it in other words. Who was mentioned already is no news.
///
/// # Errors
/// When it is gone or would say nothing, or the database refuses.
pub async fn update(tx: &mut PgConnection, project: &Project, number: i32, id: CommentId, body: &str) -> Result<()> {
    let (before, shown) = find_for_update(tx, project, number, id).await?;
    let changes = Changes::between(&Words { body: before.body.clone() }, &Words { body: body.to_owned() })?;
    if changes.is_empty() {
        return Ok(());
    }
    sqlx::query("update solopm.comments set body = $2 where id = $1").bind(id).bind(body).execute(&mut *tx).await?;
    let mentions = new_mentions(&before.body, body);
    CommentUpdated { id, shown, changes, mentions }.emit(tx, project.id).await?;
    Ok(())
}

/// What it asks for is settled. Nothing is said where it was.
///
/// # Errors
/// When it is gone, or the database refuses.
pub async fn resolve(tx: &mut PgConnection, project: &Project, number: i32, id: CommentId) -> Result<()> {
    let (before, shown) = find_for_update(tx, project, number, id).await?;
    if !before.resolved {
        sqlx::query("update solopm.comments set resolved = true where id = $1").bind(id).execute(&mut *tx).await?;
        CommentResolved { id, shown }.emit(tx, project.id).await?;
    }
    Ok(())
}

/// It is not settled after all. Nothing is said where it was not.
///
/// # Errors
/// When it is gone, or the database refuses.
pub async fn unresolve(tx: &mut PgConnection, project: &Project, number: i32, id: CommentId) -> Result<()> {
    let (before, shown) = find_for_update(tx, project, number, id).await?;
    if before.resolved {
        sqlx::query("update solopm.comments set resolved = false where id = $1").bind(id).execute(&mut *tx).await?;
        CommentUnresolved { id, shown }.emit(tx, project.id).await?;
    }
    Ok(())
}

/// Takes it back.
///
/// # Errors
/// When it is gone, or the database refuses.
pub async fn delete(tx: &mut PgConnection, project: &Project, number: i32, id: CommentId) -> Result<()> {
    let (_, shown) = find_for_update(tx, project, number, id).await?;
    sqlx::query("delete from solopm.comments where id = $1").bind(id).execute(&mut *tx).await?;
    CommentDeleted { id, shown }.emit(tx, project.id).await?;
    Ok(())
}

/// The issue is locked first, by all who change anything of it.
async fn find_for_update(
    tx: &mut PgConnection,
    project: &Project,
    number: i32,
    id: CommentId,
) -> Result<(Comment, ShownIssue)> {
    let issue = issues::find_for_update(tx, project.id, number).await?;
    let find = "select id, author_id, body, resolved, said_at from solopm.comments
                where id = $1 and issue_id = $2 for no key update";
    let comment = sqlx::query_as(find).bind(id).bind(issue.id).fetch_optional(tx).await?;
    Ok((comment.ok_or(Refused::NotFound("comment"))?, issue.shown(project)))
}
