//! Who belongs to a project.

use outbox::Changes;
use sqlx::PgConnection;

use super::{Project, Role};
use crate::context::Emit;
use crate::events::{ProjectMemberAdded, ProjectMemberRemoved, ProjectOwnershipTransferred, ProjectRoleChanged};
use crate::ids::UserId;
use crate::refused::{Refused, Result};

#[derive(Changes)]
struct Part {
    role: Role,
}

/// Lets somebody in.
///
/// # Errors
/// When they belong to it already or do not exist, when they would be a second owner, or the database refuses.
pub async fn add_member(tx: &mut PgConnection, project: &Project, user: UserId, role: Role) -> Result<()> {
    no_second_owner(role)?;
    let insert = sqlx::query("insert into solopm.members (project_id, user_id, role) values ($1, $2, $3)");
    insert.bind(project.id).bind(user).bind(role).execute(&mut *tx).await?;
    let joined =
        ProjectMemberAdded { project: project.id, project_title: project.title.clone(), user, role: role.to_string() };
    joined.emit(tx, project.id).await?;
    Ok(())
}

/// Shows somebody out. Whoever owns it hands it over first.
///
/// # Errors
/// When they do not belong to it or own it, or the database refuses.
pub async fn remove_member(tx: &mut PgConnection, project: &Project, user: UserId) -> Result<()> {
    no_owner(role_for_update(tx, project, user).await?)?;
    let delete = sqlx::query("delete from solopm.members where project_id = $1 and user_id = $2");
    delete.bind(project.id).bind(user).execute(&mut *tx).await?;
    let left = ProjectMemberRemoved { project: project.id, project_title: project.title.clone(), user };
    left.emit(tx, project.id).await?;
    Ok(())
}

/// Lets a member do more, or less.
///
/// # Errors
/// When they do not belong to it, when they are or would be its owner, or the database refuses.
pub async fn set_role(tx: &mut PgConnection, project: &Project, user: UserId, role: Role) -> Result<()> {
    no_second_owner(role)?;
    let before = role_for_update(tx, project, user).await?;
    no_owner(before)?;
    let changes = Changes::between(&Part { role: before }, &Part { role })?;
    if changes.is_empty() {
        return Ok(());
    }
    write_role(tx, project, user, role).await?;
    let event = ProjectRoleChanged { project: project.id, project_title: project.title.clone(), user, changes };
    event.emit(tx, project.id).await?;
    Ok(())
}

/// Gives the project to another member; the former owner stays as one.
///
/// # Errors
/// When `from` does not own it or `to` does not belong to it, or the database refuses.
pub async fn transfer_ownership(tx: &mut PgConnection, project: &Project, from: UserId, to: UserId) -> Result<()> {
    if from == to || role_for_update(tx, project, from).await? != Role::Owner {
        return Err(Refused::NotAllowed("the project's owner"));
    }
    role_for_update(tx, project, to).await?;
    write_role(tx, project, from, Role::Member).await?;
    write_role(tx, project, to, Role::Owner).await?;
    let handed_over =
        ProjectOwnershipTransferred { project: project.id, project_title: project.title.clone(), from, to };
    handed_over.emit(tx, project.id).await?;
    Ok(())
}

fn no_second_owner(role: Role) -> Result<()> {
    if role == Role::Owner { Err(Refused::Invalid("a project has one owner: hand it over".to_owned())) } else { Ok(()) }
}

fn no_owner(role: Role) -> Result<()> {
    if role == Role::Owner {
        Err(Refused::Invalid("the owner hands the project over first".to_owned()))
    } else {
        Ok(())
    }
}

async fn role_for_update(tx: &mut PgConnection, project: &Project, user: UserId) -> Result<Role> {
    let find = "select role from solopm.members where project_id = $1 and user_id = $2 for no key update";
    let role = sqlx::query_scalar(find).bind(project.id).bind(user).fetch_optional(tx).await?;
    role.ok_or(Refused::NotFound("member"))
}

async fn write_role(tx: &mut PgConnection, project: &Project, user: UserId, role: Role) -> Result<()> {
    let update = sqlx::query("update solopm.members set role = $3 where project_id = $1 and user_id = $2");
    update.bind(project.id).bind(user).bind(role).execute(tx).await?;
    Ok(())
}
