//! An issue is reported.

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::{Issue, Text};
use crate::context::Emit;
use crate::events::IssueCreated;
use crate::ids::UserId;
use crate::mentions::mentions;
use crate::projects::Project;
use crate::refused::{Refused, Result};

/// An issue that is to be.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Draft {
    /// Its title.
    pub title: String,
    /// More about it, in Markdown.
    #[serde(default)]
    pub description: String,
}

/// Reports an issue. It gets the project's next number and stands behind all others.
///
/// # Errors
/// When the project is gone, when it has no title, or the database refuses.
pub async fn create(
    tx: &mut PgConnection,
    project: &Project,
    reporter: Option<UserId>,
    draft: &Draft,
) -> Result<Issue> {
    let insert = sqlx::query_as(include_str!("create.sql")).bind(project.id).bind(&draft.title);
    let issue: Option<Issue> = insert.bind(&draft.description).bind(reporter).fetch_optional(&mut *tx).await?;
    let issue = issue.ok_or(Refused::NotFound("project"))?;
    let Text { description, .. } = &issue.text;
    let created = IssueCreated { id: issue.id, shown: issue.shown(project), mentions: mentions(description) };
    created.emit(tx, project.id).await?;
    Ok(issue)
}
