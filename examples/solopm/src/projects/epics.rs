//! The epics of a project.

use outbox::Changes;
use serde::Serialize;
use sqlx::PgConnection;

use crate::context::Emit;
use crate::events::{EpicCreated, EpicDeleted, EpicStatusChanged, EpicUpdated};
use crate::ids::{EpicId, ProjectId};
use crate::refused::{Refused, Result};

/// An epic.
#[derive(Debug, Clone, Serialize, sqlx::FromRow)]
pub struct Epic {
    /// Which one.
    pub id: EpicId,
    /// Its title.
    pub title: String,
    /// `open` or `closed`.
    pub status: String,
}

#[derive(Changes)]
struct Title {
    title: String,
}

#[derive(Changes)]
struct Status {
    status: String,
}

/// Begins an epic.
///
/// # Errors
/// When it has no title, or the database refuses.
pub async fn create_epic(tx: &mut PgConnection, project: ProjectId, title: &str) -> Result<Epic> {
    let insert = "insert into solopm.epics (project_id, title) values ($1, $2) returning id, title, status";
    let epic: Epic = sqlx::query_as(insert).bind(project).bind(title).fetch_one(&mut *tx).await?;
    EpicCreated { epic: epic.id, epic_title: title.to_owned() }.emit(tx, project).await?;
    Ok(epic)
}

/// Gives it another title. Nothing is said where nothing changes.
///
/// # Errors
/// When it is gone or would have no title, or the database refuses.
pub async fn update_epic(tx: &mut PgConnection, project: ProjectId, epic: EpicId, title: &str) -> Result<()> {
    let before = find_for_update(tx, project, epic).await?;
    let changes = Changes::between(&Title { title: before.title }, &Title { title: title.to_owned() })?;
    if changes.is_empty() {
        return Ok(());
    }
    sqlx::query("update solopm.epics set title = $2 where id = $1").bind(epic).bind(title).execute(&mut *tx).await?;
    EpicUpdated { epic, epic_title: title.to_owned(), changes }.emit(tx, project).await?;
    Ok(())
}

/// Closes it, or opens it again.
///
/// # Errors
/// When it is gone, when there is no such status, or the database refuses.
pub async fn set_epic_status(tx: &mut PgConnection, project: ProjectId, epic: EpicId, status: &str) -> Result<()> {
    let before = find_for_update(tx, project, epic).await?;
    let changes = Changes::between(&Status { status: before.status }, &Status { status: status.to_owned() })?;
    if changes.is_empty() {
        return Ok(());
    }
    sqlx::query("update solopm.epics set status = $2 where id = $1").bind(epic).bind(status).execute(&mut *tx).await?;
    EpicStatusChanged { epic, epic_title: before.title, changes }.emit(tx, project).await?;
    Ok(())
}

/// Removes it; its issues stay.
///
/// # Errors
/// When it is gone, or the database refuses.
pub async fn delete_epic(tx: &mut PgConnection, project: ProjectId, epic: EpicId) -> Result<()> {
    let before = find_for_update(tx, project, epic).await?;
    sqlx::query("delete from solopm.epics where id = $1").bind(epic).execute(&mut *tx).await?;
    EpicDeleted { epic, epic_title: before.title }.emit(tx, project).await?;
    Ok(())
}

async fn find_for_update(tx: &mut PgConnection, project: ProjectId, epic: EpicId) -> Result<Epic> {
    let find = "select id, title, status from solopm.epics where id = $1 and project_id = $2 for no key update";
    let found = sqlx::query_as(find).bind(epic).bind(project).fetch_optional(tx).await?;
    found.ok_or(Refused::NotFound("epic"))
}
