//! Issues: the work, and what hangs on it. An issue ends by its status, and goes with its project.

mod assign;
mod attachments;
mod blockers;
mod create;
mod http;
mod labels;
mod links;
mod place;
mod status;
mod text;

use serde::Serialize;
use sqlx::PgConnection;

use crate::events::ShownIssue;
use crate::ids::{IssueId, ProjectId, UserId};
use crate::projects::Project;
use crate::refused::{Refused, Result};

pub use assign::{assign, unassign};
pub use attachments::{delete_attachment, upload_attachment};
pub use blockers::{add_blocker, remove_blocker};
pub use create::{Draft, create};
pub(crate) use http::routes;
pub use labels::{add_label, remove_label};
pub use links::{add_link, remove_link};
pub use place::{Place, move_to};
pub use status::set_status;
pub use text::{Text, update};

/// The tables of this module. May be run again.
pub const TABLES: &str = include_str!("tables.sql");

/// An issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, sqlx::FromRow)]
pub struct Issue {
    /// Which one.
    pub id: IssueId,
    /// Its number within the project, shown as `#12`.
    pub number: i32,
    /// Its words.
    #[serde(flatten)]
    #[sqlx(flatten)]
    pub text: Text,
    /// `todo`, `doing`, `done`.
    pub status: String,
    /// Where it stands.
    #[serde(flatten)]
    #[sqlx(flatten)]
    pub place: Place,
    /// Who reported it; nobody, where a webhook did.
    pub reporter_id: Option<UserId>,
    /// Who works on it.
    pub assignee_id: Option<UserId>,
}

impl Issue {
    /// As readers of an event are shown it.
    #[must_use]
    pub fn shown(&self, project: &Project) -> ShownIssue {
        let mut watchers: Vec<_> = self.reporter_id.into_iter().chain(self.assignee_id).collect();
        watchers.dedup();
        ShownIssue {
            issue: self.id,
            number: self.number,
            issue_title: self.text.title.clone(),
            project_title: project.title.clone(),
            watchers,
        }
    }
}

/// The issues of a project, by number.
///
/// # Errors
/// When the database does.
pub async fn all(connection: &mut PgConnection, project: ProjectId) -> Result<Vec<Issue>, sqlx::Error> {
    sqlx::query_as(include_str!("all.sql")).bind(project).fetch_all(connection).await
}

/// Locked, so that what an event says changed is what changed; by the weaker lock, which the search's jobs do not wait for, nor make
/// anybody wait.
pub(crate) async fn find_for_update(tx: &mut PgConnection, project: ProjectId, number: i32) -> Result<Issue> {
    let find = sqlx::query_as(include_str!("find_for_update.sql")).bind(project).bind(number);
    find.fetch_optional(tx).await?.ok_or(Refused::NotFound("issue"))
}
