//! What the server answers about notifications.

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;

use super::Inbox;
use crate::app::App;
use crate::ids::NotificationId;
use crate::refused::Result;
use crate::users::User;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/notifications", get(inbox)).route("/api/notifications/read", post(mark_read))
}

#[derive(Deserialize)]
struct UpTo {
    up_to: NotificationId,
}

async fn inbox(user: User, State(app): State<App>) -> Result<Json<Inbox>> {
    Ok(Json(super::inbox(app.pool(), user.id).await?))
}

async fn mark_read(user: User, State(app): State<App>, Json(wish): Json<UpTo>) -> Result<()> {
    Ok(super::mark_read(app.pool(), user.id, wish.up_to).await?)
}
