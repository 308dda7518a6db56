//! What the server answers to other services.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::app::App;
use crate::projects::Member;
use crate::refused::Result;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/projects/{project}/hooks", post(open)).route("/hooks/{hook}", post(receive))
}

#[derive(Deserialize)]
struct From {
    source: String,
}

async fn open(member: Member, State(app): State<App>, Json(wish): Json<From>) -> Result<Json<Value>> {
    member.may_decide()?;
    let (hook, secret) = super::open(&mut *app.pool().acquire().await?, member.project.id, &wish.source).await?;
    Ok(Json(json!({ "path": format!("/hooks/{hook}"), "secret": secret.expose() })))
}

/// Answered when the message is kept: what it asks for is done behind that.
async fn receive(
    State(app): State<App>,
    Path(hook): Path<Uuid>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    super::receive(&app.outbox, hook, header, &body).await?;
    Ok(StatusCode::ACCEPTED)
}
