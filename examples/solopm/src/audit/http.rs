//! What the server answers about the audit.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};

use super::Entry;
use crate::app::App;
use crate::projects::Member;
use crate::refused::Result;

/// Most rows that are shown.
const SHOWN: i64 = 50;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/projects/{project}/audit", get(trail))
}

async fn trail(member: Member, State(app): State<App>) -> Result<Json<Vec<Entry>>> {
    Ok(Json(super::trail(app.pool(), member.project.id, SHOWN).await?))
}
