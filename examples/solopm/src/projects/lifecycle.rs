//! Projects begin, change and end.

use outbox::Changes;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::Project;
use crate::context::Emit;
use crate::events::{
    ProjectCreated, ProjectDeleted, ProjectExported, ProjectMemberAdded, ProjectStatusChanged, ProjectUpdated,
};
use crate::ids::{ProjectId, UserId};
use crate::issues::Issue;
use crate::refused::{Refused, Result};

/// The words of a project.
#[derive(Debug, Clone, Deserialize, Serialize, Changes)]
pub struct Text {
    /// Its title.
    pub title: String,
    /// What it is about.
    #[serde(default)]
    pub description: String,
}

#[derive(Changes)]
struct Status {
    status: String,
}

/// A copy of a project.
#[derive(Debug, Clone, Serialize)]
pub struct Export {
    /// The project.
    pub project: Project,
    /// Its issues, by number.
    pub issues: Vec<Issue>,
}

/// Begins a project, which belongs to `owner`.
///
/// # Errors
/// When it has no title, or the database refuses.
pub async fn create(tx: &mut PgConnection, owner: UserId, text: &Text) -> Result<Project> {
    let insert = "insert into solopm.projects (title, description) values ($1, $2)
                  returning id, title, description, status";
    let project: Project = sqlx::query_as(insert).bind(&text.title).bind(&text.description).fetch_one(&mut *tx).await?;
    let join = "insert into solopm.members (project_id, user_id, role) values ($1, $2, 'owner')";
    sqlx::query(join).bind(project.id).bind(owner).execute(&mut *tx).await?;
    let (id, title) = (project.id, &project.title);
    ProjectCreated { project: id, project_title: title.clone() }.emit(tx, id).await?;
    let joined =
        ProjectMemberAdded { project: id, project_title: title.clone(), user: owner, role: "owner".to_owned() };
    joined.emit(tx, id).await?;
    Ok(project)
}

/// Gives it another title or description. Nothing is said where nothing changes.
///
/// # Errors
/// When it is gone or would have no title, or the database refuses.
pub async fn update(tx: &mut PgConnection, project: ProjectId, after: &Text) -> Result<()> {
    let before = find_for_update(tx, project).await?;
    let changes = Changes::between(&Text { title: before.title, description: before.description }, after)?;
    if changes.is_empty() {
        return Ok(());
    }
    let update = sqlx::query("update solopm.projects set title = $2, description = $3 where id = $1");
    update.bind(project).bind(&after.title).bind(&after.description).execute(&mut *tx).await?;
    ProjectUpdated { project, project_title: after.title.clone(), changes }.emit(tx, project).await?;
    Ok(())
}

/// Puts it on hold, finishes it, or takes it up again.
///
/// # Errors
/// When it is gone, when there is no such status, or the database refuses.
pub async fn set_status(tx: &mut PgConnection, project: ProjectId, status: &str) -> Result<()> {
    let before = find_for_update(tx, project).await?;
    let changes = Changes::between(&Status { status: before.status }, &Status { status: status.to_owned() })?;
    if changes.is_empty() {
        return Ok(());
    }
    let update = sqlx::query("update solopm.projects set status = $2 where id = $1");
    update.bind(project).bind(status).execute(&mut *tx).await?;
    ProjectStatusChanged { project, project_title: before.title, changes }.emit(tx, project).await?;
    Ok(())
}

/// Removes it with everything in it.
///
/// # Errors
/// When it is gone, or the database refuses.
pub async fn delete(tx: &mut PgConnection, project: ProjectId) -> Result<()> {
    let before = find_for_update(tx, project).await?;
    let members = "select user_id from solopm.members where project_id = $1 order by user_id";
    let members: Vec<UserId> = sqlx::query_scalar(members).bind(project).fetch_all(&mut *tx).await?;
    sqlx::query("delete from solopm.projects where id = $1").bind(project).execute(&mut *tx).await?;
    ProjectDeleted { project, project_title: before.title, members }.emit(tx, project).await?;
    Ok(())
}

/// A copy of it. That somebody has one is worth a row of the audit, and nothing else.
///
/// # Errors
/// When it is gone, or the database refuses.
pub async fn export(tx: &mut PgConnection, project: ProjectId) -> Result<Export> {
    let project = find_for_update(tx, project).await?;
    let issues = crate::issues::all(tx, project.id).await?;
    let exported = ProjectExported { project: project.id, project_title: project.title.clone(), issues: issues.len() };
    exported.emit(tx, project.id).await?;
    Ok(Export { project, issues })
}

/// Locked, so that what an event says changed is what changed.
pub(super) async fn find_for_update(tx: &mut PgConnection, project: ProjectId) -> Result<Project> {
    let find = "select id, title, description, status from solopm.projects where id = $1 for no key update";
    sqlx::query_as(find).bind(project).fetch_optional(tx).await?.ok_or(Refused::NotFound("project"))
}
