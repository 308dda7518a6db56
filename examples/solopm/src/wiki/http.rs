//! What the server answers about pages.

use axum::extract::{Path, State};
use axum::routing::get;
use axum::{Json, Router};

use super::{Page, Text};
use crate::app::App;
use crate::ids::{PageId, ProjectId};
use crate::projects::Member;
use crate::refused::{Refused, Result};

pub(crate) fn routes() -> Router<App> {
    let page = get(show).post(create).put(update).delete(delete);
    Router::new().route("/api/projects/{project}/wiki/{slug}", page)
}

type OfPage = Path<(ProjectId, String)>;

async fn show(member: Member, State(app): State<App>, Path((_, slug)): OfPage) -> Result<Json<Page>> {
    let page = super::find(app.pool(), member.project.id, &slug).await?;
    page.map(Json).ok_or(Refused::NotFound("page"))
}

async fn create(
    member: Member,
    State(app): State<App>,
    Path((_, slug)): OfPage,
    Json(text): Json<Text>,
) -> Result<Json<PageId>> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    let id = super::create(&mut tx, &member.project, &slug, &text).await?;
    tx.commit().await?;
    Ok(Json(id))
}

async fn update(member: Member, State(app): State<App>, Path((_, slug)): OfPage, Json(text): Json<Text>) -> Result<()> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    super::update(&mut tx, &member.project, &slug, &text).await?;
    Ok(tx.commit().await?)
}

async fn delete(member: Member, State(app): State<App>, Path((_, slug)): OfPage) -> Result<()> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    super::delete(&mut tx, &member.project, &slug).await?;
    Ok(tx.commit().await?)
}
