//! A page is written, changed, removed.

use outbox::Changes;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::Page;
use crate::context::Emit;
use crate::events::{WikiCreated, WikiDeleted, WikiUpdated};
use crate::ids::PageId;
use crate::mentions::{mentions, new_mentions};
use crate::projects::Project;
use crate::refused::{Refused, Result};

/// The words of a page.
#[derive(Debug, Clone, Deserialize, Serialize, Changes, sqlx::FromRow)]
pub struct Text {
    /// Its title.
    pub title: String,
    /// Its text, in Markdown.
    pub body: String,
}

/// Writes a new page.
///
/// # Errors
/// When the name is taken or none, when there is no title, or the database refuses.
pub async fn create(tx: &mut PgConnection, project: &Project, slug: &str, text: &Text) -> Result<PageId> {
    let insert = "insert into solopm.pages (project_id, slug, title, body) values ($1, $2, $3, $4) returning id";
    let insert = sqlx::query_scalar(insert).bind(project.id).bind(slug).bind(&text.title).bind(&text.body);
    let page = insert.fetch_one(&mut *tx).await?;
    let created = WikiCreated {
        page,
        page_title: text.title.clone(),
        project_title: project.title.clone(),
        mentions: mentions(&text.body),
    };
    created.emit(tx, project.id).await?;
    Ok(page)
}

/// Gives a page other words. Nothing is said where nothing changes.
///
/// # Errors
/// When it is gone or would have no title, or the database refuses.
pub async fn update(tx: &mut PgConnection, project: &Project, slug: &str, text: &Text) -> Result<()> {
    let before = find_for_update(tx, project, slug).await?;
    let changes = Changes::between(&before.text, text)?;
    if changes.is_empty() {
        return Ok(());
    }
    let update = sqlx::query("update solopm.pages set title = $2, body = $3 where id = $1");
    update.bind(before.id).bind(&text.title).bind(&text.body).execute(&mut *tx).await?;
    let updated = WikiUpdated {
        page: before.id,
        page_title: text.title.clone(),
        project_title: project.title.clone(),
        changes,
        mentions: new_mentions(&before.text.body, &text.body),
    };
    updated.emit(tx, project.id).await?;
    Ok(())
}

/// Removes a page.
///
/// # Errors
/// When it is gone, or the database refuses.
pub async fn delete(tx: &mut PgConnection, project: &Project, slug: &str) -> Result<()> {
    let before = find_for_update(tx, project, slug).await?;
    sqlx::query("delete from solopm.pages where id = $1").bind(before.id).execute(&mut *tx).await?;
    let (page_title, project_title) = (before.text.title, project.title.clone());
    WikiDeleted { page: before.id, page_title, project_title }.emit(tx, project.id).await?;
    Ok(())
}

async fn find_for_update(tx: &mut PgConnection, project: &Project, slug: &str) -> Result<Page> {
    let find = "select id, slug, title, body from solopm.pages where project_id = $1 and slug = $2 for no key update";
    let page = sqlx::query_as(find).bind(project.id).bind(slug).fetch_optional(tx).await?;
    page.ok_or(Refused::NotFound("page"))
}
