//! The labels of a project.

use outbox::Changes;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::context::Emit;
use crate::events::{LabelCreated, LabelDeleted, LabelUpdated};
use crate::ids::{LabelId, ProjectId};
use crate::refused::{Refused, Result};

/// A label.
#[derive(Debug, Clone, Serialize, sqlx::FromRow)]
pub struct Label {
    /// Which one.
    pub id: LabelId,
    /// Its name.
    pub name: String,
}

#[derive(Deserialize, Changes)]
struct Name {
    name: String,
}

/// Makes a label.
///
/// # Errors
/// When the name is taken or empty, or the database refuses.
pub async fn create_label(tx: &mut PgConnection, project: ProjectId, name: &str) -> Result<Label> {
    let insert = "insert into solopm.labels (project_id, name) values ($1, $2) returning id, name";
    let label: Label = sqlx::query_as(insert).bind(project).bind(name).fetch_one(&mut *tx).await?;
    LabelCreated { label: label.id, name: name.to_owned() }.emit(tx, project).await?;
    Ok(label)
}

/// Gives it another name. Nothing is said where nothing changes.
///
/// # Errors
/// When it is gone, when the name is taken or empty, or the database refuses.
pub async fn update_label(tx: &mut PgConnection, project: ProjectId, label: LabelId, name: &str) -> Result<()> {
    let before = "select name from solopm.labels where id = $1 and project_id = $2 for no key update";
    let before: Option<String> = sqlx::query_scalar(before).bind(label).bind(project).fetch_optional(&mut *tx).await?;
    let before = Name { name: before.ok_or(Refused::NotFound("label"))? };
    let changes = Changes::between(&before, &Name { name: name.to_owned() })?;
    if changes.is_empty() {
        return Ok(());
    }
    let update = sqlx::query("update solopm.labels set name = $2 where id = $1");
    update.bind(label).bind(name).execute(&mut *tx).await?;
    LabelUpdated { label, name: name.to_owned(), changes }.emit(tx, project).await?;
    Ok(())
}

/// Removes it, from every issue too.
///
/// # Errors
/// When it is gone, or the database refuses.
pub async fn delete_label(tx: &mut PgConnection, project: ProjectId, label: LabelId) -> Result<()> {
    let delete = "delete from solopm.labels where id = $1 and project_id = $2 returning name";
    let name: Option<String> = sqlx::query_scalar(delete).bind(label).bind(project).fetch_optional(&mut *tx).await?;
    LabelDeleted { label, name: name.ok_or(Refused::NotFound("label"))? }.emit(tx, project).await?;
    Ok(())
}
