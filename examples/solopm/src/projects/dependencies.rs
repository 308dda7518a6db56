//! Which project waits for which.

use sqlx::PgConnection;

use super::Project;
use crate::context::Emit;
use crate::events::{ProjectDependencyAdded, ProjectDependencyRemoved};
use crate::ids::ProjectId;
use crate::refused::{Refused, Result};

/// From now on a project waits for another.
///
/// # Errors
/// When it does already, or that one is gone or the same, or the database refuses.
pub async fn add_dependency(tx: &mut PgConnection, project: &Project, depends_on: ProjectId) -> Result<()> {
    let insert = sqlx::query("insert into solopm.project_dependencies (project_id, depends_on) values ($1, $2)");
    insert.bind(project.id).bind(depends_on).execute(&mut *tx).await?;
    let added = ProjectDependencyAdded { project: project.id, project_title: project.title.clone(), depends_on };
    added.emit(tx, project.id).await?;
    Ok(())
}

/// It does not wait for that one any more.
///
/// # Errors
/// When it did not, or the database refuses.
pub async fn remove_dependency(tx: &mut PgConnection, project: &Project, depends_on: ProjectId) -> Result<()> {
    let delete = sqlx::query("delete from solopm.project_dependencies where project_id = $1 and depends_on = $2");
    if delete.bind(project.id).bind(depends_on).execute(&mut *tx).await?.rows_affected() == 0 {
        return Err(Refused::NotFound("dependency"));
    }
    let removed = ProjectDependencyRemoved { project: project.id, project_title: project.title.clone(), depends_on };
    removed.emit(tx, project.id).await?;
    Ok(())
}
