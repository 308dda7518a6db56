//! Web addresses at an issue.

use sqlx::PgConnection;

use super::find_for_update;
use crate::context::Emit;
use crate::events::{LinkAdded, LinkRemoved};
use crate::ids::LinkId;
use crate::projects::Project;
use crate::refused::{Refused, Result};

/// Puts an address at an issue.
///
/// # Errors
/// When the issue is gone, when the address is there already or none, or the database refuses.
pub async fn add_link(tx: &mut PgConnection, project: &Project, number: i32, url: &str) -> Result<LinkId> {
    let issue = find_for_update(tx, project.id, number).await?;
    let insert = "insert into solopm.links (issue_id, url) values ($1, $2) returning id";
    let id = sqlx::query_scalar(insert).bind(issue.id).bind(url).fetch_one(&mut *tx).await?;
    LinkAdded { id, shown: issue.shown(project), url: url.to_owned() }.emit(tx, project.id).await?;
    Ok(id)
}

/// Takes it away.
///
/// # Errors
/// When either is gone, or the database refuses.
pub async fn remove_link(tx: &mut PgConnection, project: &Project, number: i32, id: LinkId) -> Result<()> {
    let issue = find_for_update(tx, project.id, number).await?;
    let delete = "delete from solopm.links where id = $1 and issue_id = $2 returning url";
    let url: Option<String> = sqlx::query_scalar(delete).bind(id).bind(issue.id).fetch_optional(&mut *tx).await?;
    let url = url.ok_or(Refused::NotFound("link"))?;
    LinkRemoved { id, shown: issue.shown(project), url }.emit(tx, project.id).await?;
    Ok(())
}
