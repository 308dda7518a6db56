//! What the server answers about comments.

use axum::extract::{Path, State};
use axum::routing::{get, put};
use axum::{Json, Router};
use serde::Deserialize;

use super::Comment;
use crate::app::App;
use crate::ids::{CommentId, ProjectId};
use crate::projects::Member;
use crate::refused::{Refused, Result};

pub(crate) fn routes() -> Router<App> {
    let comments = Router::new()
        .route("/", get(all).post(create))
        .route("/{comment}", put(update).delete(delete))
        .route("/{comment}/resolved", put(resolve).delete(unresolve));
    Router::new().nest("/api/projects/{project}/issues/{number}/comments", comments)
}

#[derive(Deserialize)]
struct Words {
    body: String,
}

type OfComment = Path<(ProjectId, i32, CommentId)>;

async fn all(
    member: Member,
    State(app): State<App>,
    Path((_, number)): Path<(ProjectId, i32)>,
) -> Result<Json<Vec<Comment>>> {
    Ok(Json(super::all(app.pool(), member.project.id, number).await?))
}

async fn create(
    member: Member,
    State(app): State<App>,
    Path((_, number)): Path<(ProjectId, i32)>,
    Json(words): Json<Words>,
) -> Result<Json<CommentId>> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    let id = super::create(&mut tx, &member.project, number, Some(member.user.id), &words.body).await?;
    tx.commit().await?;
    Ok(Json(id))
}

async fn update(
    member: Member,
    State(app): State<App>,
    Path((_, number, id)): OfComment,
    Json(words): Json<Words>,
) -> Result<()> {
    of_its_author(&app, &member, number, id).await?;
    let mut tx = app.outbox.begin().await?;
    super::update(&mut tx, &member.project, number, id, &words.body).await?;
    Ok(tx.commit().await?)
}

async fn resolve(member: Member, State(app): State<App>, Path((_, number, id)): OfComment) -> Result<()> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    super::resolve(&mut tx, &member.project, number, id).await?;
    Ok(tx.commit().await?)
}

async fn unresolve(member: Member, State(app): State<App>, Path((_, number, id)): OfComment) -> Result<()> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    super::unresolve(&mut tx, &member.project, number, id).await?;
    Ok(tx.commit().await?)
}

async fn delete(member: Member, State(app): State<App>, Path((_, number, id)): OfComment) -> Result<()> {
    of_its_author(&app, &member, number, id).await?;
    let mut tx = app.outbox.begin().await?;
    super::delete(&mut tx, &member.project, number, id).await?;
    Ok(tx.commit().await?)
}

/// Words are changed by who said them, and by nobody else. The author of a comment never changes.
async fn of_its_author(app: &App, member: &Member, number: i32, id: CommentId) -> Result<()> {
    member.may_work()?;
    let all = super::all(app.pool(), member.project.id, number).await?;
    let comment = all.iter().find(|comment| comment.id == id).ok_or(Refused::NotFound("comment"))?;
    if comment.author_id == Some(member.user.id) { Ok(()) } else { Err(Refused::NotAllowed("who said it")) }
}
