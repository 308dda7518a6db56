//! What the server answers to a search.

use axum::extract::{Query, State};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;

use super::{Hit, SearchError};
use crate::app::App;
use crate::projects::projects_of;
use crate::refused::Result;
use crate::users::User;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/api/search", get(search))
}

#[derive(Deserialize)]
struct Words {
    words: String,
}

/// In the projects of the user, as of now.
async fn search(user: User, State(app): State<App>, Query(Words { words }): Query<Words>) -> Result<Json<Vec<Hit>>> {
    let projects: Vec<_> = projects_of(app.pool(), user.id).await?.into_iter().map(|project| project.id).collect();
    let index = app.search.clone();
    let hits = tokio::task::spawn_blocking(move || index.search(&words, &projects, 20));
    Ok(Json(hits.await.map_err(|_| SearchError::NotOurs)??))
}
