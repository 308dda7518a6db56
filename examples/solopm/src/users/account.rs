//! Accounts begin, change and end.

use outbox::Changes;
use outbox::prelude::*;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::{EmailMode, User};
use crate::events::{UserCreated, UserDeleted, UserUpdated};
use crate::ids::UserId;
use crate::refused::{Refused, Result};

/// An account that is to be.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Draft {
    /// The name by which others mention them.
    pub username: String,
    /// The name as it is shown.
    pub name: String,
    /// Where their mail goes.
    pub email: String,
    /// How they want to hear of things.
    #[serde(default)]
    pub email_mode: EmailMode,
    /// Whether they run this server.
    #[serde(default)]
    pub admin: bool,
}

/// What a user can change.
#[derive(Debug, Clone, Deserialize, Serialize, Changes)]
pub struct Edit {
    /// The name as it is shown.
    pub name: String,
    /// Where their mail goes.
    pub email: String,
    /// How they want to hear of things.
    pub email_mode: EmailMode,
}

/// Gives somebody an account.
///
/// # Errors
/// When the name is taken or cannot be one, or the database refuses.
pub async fn create(tx: &mut PgConnection, draft: &Draft) -> Result<User> {
    let insert = "insert into solopm.users (username, name, email, email_mode, admin) values ($1, $2, $3, $4, $5)
                  returning id, username, name, email, email_mode, admin";
    let user: User = sqlx::query_as(insert)
        .bind(&draft.username)
        .bind(&draft.name)
        .bind(&draft.email)
        .bind(draft.email_mode)
        .bind(draft.admin)
        .fetch_one(&mut *tx)
        .await?;
    UserCreated { user: user.id, username: user.username.clone() }.publish(tx).await?;
    Ok(user)
}

/// Changes an account. Nothing is said where nothing changes.
///
/// # Errors
/// When there is none, or the database refuses.
pub async fn update(tx: &mut PgConnection, user: UserId, after: &Edit) -> Result<User> {
    let before = find_for_update(tx, user).await?;
    let edit = Edit { name: before.name.clone(), email: before.email.clone(), email_mode: before.email_mode };
    let changes = Changes::between(&edit, after)?;
    if changes.is_empty() {
        return Ok(before);
    }
    let update = sqlx::query("update solopm.users set name = $2, email = $3, email_mode = $4 where id = $1");
    update.bind(user).bind(&after.name).bind(&after.email).bind(after.email_mode).execute(&mut *tx).await?;
    UserUpdated { user, username: before.username.clone(), changes }.publish(tx).await?;
    Ok(User { name: after.name.clone(), email: after.email.clone(), email_mode: after.email_mode, ..before })
}

/// Closes an account: no token opens it any more, and it belongs to no project. What its owner wrote stays.
///
/// # Errors
/// When there is none, when it owns a project, or the database refuses.
pub async fn delete(tx: &mut PgConnection, user: UserId) -> Result<()> {
    let before = find_for_update(tx, user).await?;
    let owns = "select exists (select from solopm.members where user_id = $1 and role = 'owner')";
    if sqlx::query_scalar(owns).bind(user).fetch_one(&mut *tx).await? {
        return Err(Refused::Invalid("hand your projects over first".to_owned()));
    }
    for statement in [
        "delete from solopm.members where user_id = $1",
        "delete from solopm.tokens where user_id = $1",
        "update solopm.users set deleted_at = now() where id = $1",
    ] {
        sqlx::query(statement).bind(user).execute(&mut *tx).await?;
    }
    UserDeleted { user, username: before.username }.publish(tx).await?;
    Ok(())
}

async fn find_for_update(tx: &mut PgConnection, user: UserId) -> Result<User> {
    let find = "select id, username, name, email, email_mode, admin from solopm.users
                where id = $1 and deleted_at is null for no key update";
    sqlx::query_as(find).bind(user).fetch_optional(tx).await?.ok_or(Refused::NotFound("user"))
}
