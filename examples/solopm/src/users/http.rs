//! What the server answers about users.

use axum::extract::{Path, State};
use axum::http::header::SET_COOKIE;
use axum::response::{AppendHeaders, IntoResponse};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde::Deserialize;

use super::{Draft, Edit, User};
use crate::app::App;
use crate::ids::TokenId;
use crate::refused::{Refused, Result};
use crate::session::{Admin, COOKIE};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/login", post(log_in))
        .route("/api/logout", post(log_out))
        .route("/api/users", post(create))
        .route("/api/me", get(me).put(update).delete(close))
        .route("/api/me/tokens", post(give_token))
        .route("/api/me/tokens/{token}", delete(revoke_token))
}

#[derive(Deserialize)]
struct Token {
    token: String,
}

/// A right token becomes a cookie that scripts cannot read and that other sites do not send.
async fn log_in(State(app): State<App>, Json(Token { token }): Json<Token>) -> Result<impl IntoResponse> {
    let user = super::by_token(app.pool(), &token).await?;
    let mut tx = app.outbox.begin().await?;
    super::log_in(&mut tx, user.as_ref()).await?;
    tx.commit().await?;
    let user = user.ok_or(Refused::SignedOut)?;
    Ok((AppendHeaders([(SET_COOKIE, format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict"))]), Json(user)))
}

/// The browser forgets the token; it still opens, until it is revoked.
async fn log_out() -> impl IntoResponse {
    AppendHeaders([(SET_COOKIE, format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"))])
}

async fn me(user: User) -> Json<User> {
    Json(user)
}

async fn create(_: Admin, State(app): State<App>, Json(draft): Json<Draft>) -> Result<Json<User>> {
    let mut tx = app.outbox.begin().await?;
    let user = super::create(&mut tx, &draft).await?;
    tx.commit().await?;
    Ok(Json(user))
}

async fn update(user: User, State(app): State<App>, Json(edit): Json<Edit>) -> Result<Json<User>> {
    let mut tx = app.outbox.begin().await?;
    let user = super::update(&mut tx, user.id, &edit).await?;
    tx.commit().await?;
    Ok(Json(user))
}

async fn close(user: User, State(app): State<App>) -> Result<()> {
    let mut tx = app.outbox.begin().await?;
    super::delete(&mut tx, user.id).await?;
    Ok(tx.commit().await?)
}

async fn give_token(user: User, State(app): State<App>) -> Result<Json<serde_json::Value>> {
    let token = uuid::Uuid::new_v4().simple().to_string();
    let mut tx = app.outbox.begin().await?;
    let id = super::give_token(&mut tx, user.id, &token).await?;
    tx.commit().await?;
    Ok(Json(serde_json::json!({ "id": id, "token": token })))
}

async fn revoke_token(user: User, State(app): State<App>, Path(token): Path<TokenId>) -> Result<()> {
    let mut tx = app.outbox.begin().await?;
    super::revoke_token(&mut tx, user.id, token).await?;
    Ok(tx.commit().await?)
}
