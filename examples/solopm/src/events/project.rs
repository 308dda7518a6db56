//! What can happen to a project.

use outbox::Changes;
use outbox::prelude::*;

use crate::ids::{ProjectId, UserId};

/// A project began.
#[event("project.created")]
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectCreated {
    /// Which one.
    #[subject]
    pub project: ProjectId,
    /// Its title.
    pub project_title: String,
}

/// Its title or description changed.
#[event("project.updated")]
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectUpdated {
    /// Which one.
    #[subject]
    pub project: ProjectId,
    /// Its title behind the change.
    pub project_title: String,
    /// What changed.
    pub changes: Changes,
}

/// It was put on hold, finished, or taken up again.
#[event("project.status_changed")]
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectStatusChanged {
    /// Which one.
    #[subject]
    pub project: ProjectId,
    /// Its title.
    pub project_title: String,
    /// What changed.
    pub changes: Changes,
}

/// It is gone, and everything in it.
#[event("project.deleted")]
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectDeleted {
    /// Which one.
    #[subject]
    pub project: ProjectId,
    /// Its last title.
    pub project_title: String,
    /// Who was a member when it went: nobody can ask the tables any more.
    pub members: Vec<UserId>,
}

/// Somebody joined.
#[event("project.member_added")]
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectMemberAdded {
    /// Which project.
    #[subject]
    pub project: ProjectId,
    /// Its title.
    pub project_title: String,
    /// Who joined.
    pub user: UserId,
    /// As what: `owner`, `member`, `viewer`.
    pub role: String,
}

/// Somebody is no member any more.
#[event("project.member_removed")]
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectMemberRemoved {
    /// Which project.
    #[subject]
    pub project: ProjectId,
    /// Its title.
    pub project_title: String,
    /// Who left.
    pub user: UserId,
}

/// Somebody may do more, or less, than before.
#[event("project.role_changed")]
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectRoleChanged {
    /// Which project.
    #[subject]
    pub project: ProjectId,
    /// Its title.
    pub project_title: String,
    /// Whose role.
    pub user: UserId,
    /// What changed.
    pub changes: Changes,
}

/// It has another owner.
#[event("project.ownership_transferred")]
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectOwnershipTransferred {
    /// Which project.
    #[subject]
    pub project: ProjectId,
    /// Its title.
    pub project_title: String,
    /// Who owned it.
    pub from: UserId,
    /// Who owns it.
    pub to: UserId,
}

/// It waits for another project.
#[event("project.dependency_added")]
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectDependencyAdded {
    /// Which one waits.
    #[subject]
    pub project: ProjectId,
    /// Its title.
    pub project_title: String,
    /// For which one.
    pub depends_on: ProjectId,
}

/// It does not wait for that one any more.
#[event("project.dependency_removed")]
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectDependencyRemoved {
    /// Which one waited.
    #[subject]
    pub project: ProjectId,
    /// Its title.
    pub project_title: String,
    /// For which one.
    pub depends_on: ProjectId,
}

/// Somebody took a copy of it. Kept for the audit, and nobody else is told.
#[event("project.exported")]
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectExported {
    /// Which one.
    #[subject]
    pub project: ProjectId,
    /// Its title.
    pub project_title: String,
    /// How many issues the copy holds.
    pub issues: usize,
}
