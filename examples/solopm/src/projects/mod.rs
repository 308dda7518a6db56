//! Projects: what people work on, who belongs to them, and their labels and epics.

mod dependencies;
mod epics;
mod http;
mod labels;
mod lifecycle;
mod members;

use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::ids::{ProjectId, UserId};
use crate::refused::{Refused, Result};
use crate::users::User;

pub use dependencies::{add_dependency, remove_dependency};
pub use epics::{Epic, create_epic, delete_epic, set_epic_status, update_epic};
pub(crate) use http::routes;
pub use labels::{Label, create_label, delete_label, update_label};
pub use lifecycle::{Export, Text, create, delete, export, set_status, update};
pub use members::{add_member, remove_member, set_role, transfer_ownership};

/// The tables of this module. May be run again.
pub const TABLES: &str = include_str!("tables.sql");

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, sqlx::FromRow)]
pub struct Project {
    /// Which one.
    pub id: ProjectId,
    /// Its title.
    pub title: String,
    /// What it is about.
    pub description: String,
    /// `active`, `on_hold`, `finished`.
    pub status: String,
}

/// What somebody may do in a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Role {
    /// Everything.
    Owner,
    /// Work in it.
    Member,
    /// Look at it.
    Viewer,
}

/// As in the tables.
impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Owner => "owner",
            Self::Member => "member",
            Self::Viewer => "viewer",
        })
    }
}

/// A user, in a project.
#[derive(Debug, Clone)]
pub struct Member {
    /// Who.
    pub user: User,
    /// Where.
    pub project: Project,
    /// As what.
    pub role: Role,
}

impl Member {
    /// # Errors
    /// To those who only look.
    pub fn may_work(&self) -> Result<()> {
        if self.role == Role::Viewer { Err(Refused::NotAllowed("members of the project")) } else { Ok(()) }
    }

    /// # Errors
    /// To all but the owner.
    pub fn may_decide(&self) -> Result<()> {
        if self.role == Role::Owner { Ok(()) } else { Err(Refused::NotAllowed("the project's owner")) }
    }
}

/// A user as a member of a project; `None` to whoever does not belong to it.
///
/// # Errors
/// When the database does.
pub async fn member(pool: &PgPool, user: User, project: ProjectId) -> Result<Option<Member>> {
    #[derive(sqlx::FromRow)]
    struct Row {
        #[sqlx(flatten)]
        project: Project,
        role: Role,
    }
    let find = "select p.id, p.title, p.description, p.status, m.role
                from solopm.members m join solopm.projects p on p.id = m.project_id
                where m.project_id = $1 and m.user_id = $2";
    let row: Option<Row> = sqlx::query_as(find).bind(project).bind(user.id).fetch_optional(pool).await?;
    Ok(row.map(|Row { project, role }| Member { user, project, role }))
}

/// Whether a user belongs to a project, as of now.
///
/// # Errors
/// When the database does.
pub async fn is_member(pool: &PgPool, user: UserId, project: ProjectId) -> Result<bool, sqlx::Error> {
    let find = "select exists (select from solopm.members where project_id = $1 and user_id = $2)";
    sqlx::query_scalar(find).bind(project).bind(user).fetch_one(pool).await
}

/// The projects of a user, by title.
///
/// # Errors
/// When the database does.
pub async fn projects_of(pool: &PgPool, user: UserId) -> Result<Vec<Project>, sqlx::Error> {
    let find = "select p.id, p.title, p.description, p.status
                from solopm.members m join solopm.projects p on p.id = m.project_id
                where m.user_id = $1 order by p.title, p.id";
    sqlx::query_as(find).bind(user).fetch_all(pool).await
}
