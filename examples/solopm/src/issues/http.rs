//! What the server answers about issues.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::{delete, get, post, put};
use axum::{Json, Router};
use serde::Deserialize;

use super::{Draft, Issue, Place, Text};
use crate::app::App;
use crate::ids::{AttachmentId, LabelId, LinkId, ProjectId, UserId};
use crate::projects::Member;
use crate::refused::Result;

pub(crate) fn routes() -> Router<App> {
    let issue = Router::new()
        .route("/", put(update))
        .route("/status", put(set_status))
        .route("/place", put(move_to))
        .route("/assignee", put(assign).delete(unassign))
        .route("/blockers/{blocker}", put(add_blocker).delete(remove_blocker))
        .route("/labels/{label}", put(add_label).delete(remove_label))
        .route("/links", post(add_link))
        .route("/links/{link}", delete(remove_link))
        .route("/attachments/{name}", post(upload))
        .route("/attachments/{name}/{attachment}", delete(remove_attachment));
    Router::new()
        .route("/api/projects/{project}/issues", get(all).post(create))
        .nest("/api/projects/{project}/issues/{number}", issue)
}

#[derive(Deserialize)]
struct Status {
    status: String,
}

#[derive(Deserialize)]
struct Assignee {
    user: UserId,
}

#[derive(Deserialize)]
struct Address {
    url: String,
}

type OfIssue = Path<(ProjectId, i32)>;

async fn all(member: Member, State(app): State<App>) -> Result<Json<Vec<Issue>>> {
    Ok(Json(super::all(&mut *app.pool().acquire().await?, member.project.id).await?))
}

async fn create(member: Member, State(app): State<App>, Json(draft): Json<Draft>) -> Result<Json<Issue>> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    let issue = super::create(&mut tx, &member.project, Some(member.user.id), &draft).await?;
    tx.commit().await?;
    Ok(Json(issue))
}

async fn update(
    member: Member,
    State(app): State<App>,
    Path((_, number)): OfIssue,
    Json(text): Json<Text>,
) -> Result<Json<Issue>> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    let issue = super::update(&mut tx, &member.project, number, text).await?;
    tx.commit().await?;
    Ok(Json(issue))
}

async fn set_status(
    member: Member,
    State(app): State<App>,
    Path((_, number)): OfIssue,
    Json(wish): Json<Status>,
) -> Result<Json<Issue>> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    let issue = super::set_status(&mut tx, &member.project, number, &wish.status).await?;
    tx.commit().await?;
    Ok(Json(issue))
}

async fn move_to(
    member: Member,
    State(app): State<App>,
    Path((_, number)): OfIssue,
    Json(place): Json<Place>,
) -> Result<Json<Issue>> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    let issue = super::move_to(&mut tx, &member.project, number, place).await?;
    tx.commit().await?;
    Ok(Json(issue))
}

async fn assign(
    member: Member,
    State(app): State<App>,
    Path((_, number)): OfIssue,
    Json(wish): Json<Assignee>,
) -> Result<Json<Issue>> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    let issue = super::assign(&mut tx, &member.project, number, wish.user).await?;
    tx.commit().await?;
    Ok(Json(issue))
}

async fn unassign(member: Member, State(app): State<App>, Path((_, number)): OfIssue) -> Result<Json<Issue>> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    let issue = super::unassign(&mut tx, &member.project, number).await?;
    tx.commit().await?;
    Ok(Json(issue))
}

type OfBlocker = Path<(ProjectId, i32, i32)>;

async fn add_blocker(member: Member, State(app): State<App>, Path((_, number, blocker)): OfBlocker) -> Result<()> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    super::add_blocker(&mut tx, &member.project, number, blocker).await?;
    Ok(tx.commit().await?)
}

async fn remove_blocker(member: Member, State(app): State<App>, Path((_, number, blocker)): OfBlocker) -> Result<()> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    super::remove_blocker(&mut tx, &member.project, number, blocker).await?;
    Ok(tx.commit().await?)
}

type OfLabel = Path<(ProjectId, i32, LabelId)>;

async fn add_label(member: Member, State(app): State<App>, Path((_, number, label)): OfLabel) -> Result<()> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    super::add_label(&mut tx, &member.project, number, label).await?;
    Ok(tx.commit().await?)
}

async fn remove_label(member: Member, State(app): State<App>, Path((_, number, label)): OfLabel) -> Result<()> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    super::remove_label(&mut tx, &member.project, number, label).await?;
    Ok(tx.commit().await?)
}

async fn add_link(
    member: Member,
    State(app): State<App>,
    Path((_, number)): OfIssue,
    Json(wish): Json<Address>,
) -> Result<Json<LinkId>> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    let id = super::add_link(&mut tx, &member.project, number, &wish.url).await?;
    tx.commit().await?;
    Ok(Json(id))
}

type OfLink = Path<(ProjectId, i32, LinkId)>;

async fn remove_link(member: Member, State(app): State<App>, Path((_, number, link)): OfLink) -> Result<()> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    super::remove_link(&mut tx, &member.project, number, link).await?;
    Ok(tx.commit().await?)
}

type OfFile = Path<(ProjectId, i32, String)>;

async fn upload(
    member: Member,
    State(app): State<App>,
    Path((_, number, name)): OfFile,
    content: Bytes,
) -> Result<Json<AttachmentId>> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    let id = super::upload_attachment(&mut tx, &member.project, number, &name, &content).await?;
    tx.commit().await?;
    Ok(Json(id))
}

type OfAttachment = Path<(ProjectId, i32, String, AttachmentId)>;

async fn remove_attachment(
    member: Member,
    State(app): State<App>,
    Path((_, number, _, id)): OfAttachment,
) -> Result<()> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    super::delete_attachment(&mut tx, &member.project, number, id).await?;
    Ok(tx.commit().await?)
}
