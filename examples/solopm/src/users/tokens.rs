//! Tokens are given out and revoked, and open an account.

use outbox::prelude::*;
use sqlx::PgConnection;

use super::User;
use crate::events::{AuthLoginFailed, AuthLoginSucceeded, AuthTokenCreated, AuthTokenRevoked};
use crate::ids::{TokenId, UserId};
use crate::refused::{Refused, Result};

/// Has `token` open a user's account. Only its hash is kept.
///
/// # Errors
/// When the database does.
pub async fn give_token(tx: &mut PgConnection, user: UserId, token: &str) -> Result<TokenId> {
    let insert = "insert into solopm.tokens (user_id, hash) values ($1, sha256($2)) returning id";
    let id = sqlx::query_scalar(insert).bind(user).bind(token.as_bytes()).fetch_one(&mut *tx).await?;
    AuthTokenCreated { user, token: id }.publish(tx).await?;
    Ok(id)
}

/// From now on this token of a user opens nothing.
///
/// # Errors
/// When there is none, or the database refuses.
pub async fn revoke_token(tx: &mut PgConnection, user: UserId, token: TokenId) -> Result<()> {
    let revoke = "update solopm.tokens set revoked_at = now() where id = $1 and user_id = $2 and revoked_at is null";
    if sqlx::query(revoke).bind(token).bind(user).execute(&mut *tx).await?.rows_affected() == 0 {
        return Err(Refused::NotFound("token"));
    }
    AuthTokenRevoked { user, token }.publish(tx).await?;
    Ok(())
}

/// Notes that somebody came in, or was turned away. Both are worth a row of the audit, so commit in either case.
///
/// # Errors
/// When the event cannot be published.
pub async fn log_in(tx: &mut PgConnection, user: Option<&User>) -> Result<()> {
    match user {
        Some(user) => AuthLoginSucceeded { user: user.id }.publish(tx).actor(user.id.to_string()).await?,
        None => AuthLoginFailed { reason: "no such token".to_owned() }.publish(tx).await?,
    };
    Ok(())
}
