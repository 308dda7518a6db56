//! Which labels an issue has.

use sqlx::PgConnection;

use super::find_for_update;
use crate::context::Emit;
use crate::events::{IssueLabelAdded, IssueLabelRemoved};
use crate::ids::LabelId;
use crate::projects::Project;
use crate::refused::{Refused, Result};

/// Puts a label of the project on an issue. Nothing is said where it has it already.
///
/// # Errors
/// When either is gone, or the database refuses.
pub async fn add_label(tx: &mut PgConnection, project: &Project, number: i32, label: LabelId) -> Result<()> {
    let issue = find_for_update(tx, project.id, number).await?;
    let name = name_of(tx, project, label).await?;
    let insert = "insert into solopm.issue_labels (issue_id, label_id) values ($1, $2) on conflict do nothing";
    if sqlx::query(insert).bind(issue.id).bind(label).execute(&mut *tx).await?.rows_affected() == 1 {
        IssueLabelAdded { id: issue.id, shown: issue.shown(project), label: name }.emit(tx, project.id).await?;
    }
    Ok(())
}

/// Takes it off. Nothing is said where it did not have it.
///
/// # Errors
/// When either is gone, or the database refuses.
pub async fn remove_label(tx: &mut PgConnection, project: &Project, number: i32, label: LabelId) -> Result<()> {
    let issue = find_for_update(tx, project.id, number).await?;
    let name = name_of(tx, project, label).await?;
    let delete = "delete from solopm.issue_labels where issue_id = $1 and label_id = $2";
    if sqlx::query(delete).bind(issue.id).bind(label).execute(&mut *tx).await?.rows_affected() == 1 {
        IssueLabelRemoved { id: issue.id, shown: issue.shown(project), label: name }.emit(tx, project.id).await?;
    }
    Ok(())
}

async fn name_of(tx: &mut PgConnection, project: &Project, label: LabelId) -> Result<String> {
    let find = "select name from solopm.labels where id = $1 and project_id = $2 for share";
    let name = sqlx::query_scalar(find).bind(label).bind(project.id).fetch_optional(tx).await?;
    name.ok_or(Refused::NotFound("label"))
}
