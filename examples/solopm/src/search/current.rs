//! A document as its row is now.

use sqlx::PgConnection;

use super::{DocId, Document, Shelf};
use crate::ids::ProjectId;

/// The document of a row, which stays undeleted until the end of the transaction; `None` where there is no row.
pub(super) async fn document(tx: &mut PgConnection, id: DocId) -> Result<Option<Document>, sqlx::Error> {
    let find = match id.index {
        Shelf::Projects => "select id, title, description from solopm.projects where id = $1 for key share",
        Shelf::Epics => "select project_id, title, '' from solopm.epics where id = $1 for key share",
        Shelf::Issues => "select project_id, title, description from solopm.issues where id = $1 for key share",
        Shelf::Comments => {
            "select i.project_id, i.title, c.body from solopm.comments c join solopm.issues i on i.id = c.issue_id
             where c.id = $1 for key share of c"
        }
        Shelf::Pages => "select project_id, title, body from solopm.pages where id = $1 for key share",
    };
    let row: Option<(ProjectId, String, String)> = sqlx::query_as(find).bind(id.id).fetch_optional(tx).await?;
    Ok(row.map(|(project, title, body)| Document { id, project, title, body }))
}
