//! What the server answers about projects.

use axum::extract::{Path, State};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use serde::Deserialize;

use super::{Epic, Export, Label, Member, Project, Role, Text};
use crate::app::App;
use crate::ids::{EpicId, LabelId, ProjectId, UserId};
use crate::refused::Result;
use crate::users::User;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/projects", get(mine).post(create))
        .route("/api/projects/{project}", get(show).put(update).delete(delete))
        .route("/api/projects/{project}/status", put(set_status))
        .route("/api/projects/{project}/export", post(export))
        .route("/api/projects/{project}/members", get(members))
        .route("/api/projects/{project}/members/{user}", post(add_member).put(set_role).delete(remove_member))
        .route("/api/projects/{project}/owner", put(transfer_ownership))
        .route("/api/projects/{project}/dependencies/{other}", put(add_dependency).delete(remove_dependency))
        .route("/api/projects/{project}/labels", post(create_label))
        .route("/api/projects/{project}/labels/{label}", put(update_label).delete(delete_label))
        .route("/api/projects/{project}/epics", post(create_epic))
        .route("/api/projects/{project}/epics/{epic}", put(update_epic).delete(delete_epic))
        .route("/api/projects/{project}/epics/{epic}/status", put(set_epic_status))
}

#[derive(Deserialize)]
struct Status {
    status: String,
}

#[derive(Deserialize)]
struct As {
    role: Role,
}

#[derive(Deserialize)]
struct Owner {
    user: UserId,
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

#[derive(Deserialize)]
struct Title {
    title: String,
}

async fn mine(user: User, State(app): State<App>) -> Result<Json<Vec<Project>>> {
    Ok(Json(super::projects_of(app.pool(), user.id).await?))
}

async fn show(member: Member) -> Json<Project> {
    Json(member.project)
}

async fn members(member: Member, State(app): State<App>) -> Result<Json<Vec<User>>> {
    let find = "select u.id, u.username, u.name, u.email, u.email_mode, u.admin
                from solopm.members m join solopm.users u on u.id = m.user_id
                where m.project_id = $1 order by u.name, u.id";
    Ok(Json(sqlx::query_as(find).bind(member.project.id).fetch_all(app.pool()).await?))
}

async fn create(user: User, State(app): State<App>, Json(text): Json<Text>) -> Result<Json<Project>> {
    let mut tx = app.outbox.begin().await?;
    let project = super::create(&mut tx, user.id, &text).await?;
    tx.commit().await?;
    Ok(Json(project))
}

async fn update(member: Member, State(app): State<App>, Json(text): Json<Text>) -> Result<()> {
    member.may_decide()?;
    let mut tx = app.outbox.begin().await?;
    super::update(&mut tx, member.project.id, &text).await?;
    Ok(tx.commit().await?)
}

async fn set_status(member: Member, State(app): State<App>, Json(wish): Json<Status>) -> Result<()> {
    member.may_decide()?;
    let mut tx = app.outbox.begin().await?;
    super::set_status(&mut tx, member.project.id, &wish.status).await?;
    Ok(tx.commit().await?)
}

async fn delete(member: Member, State(app): State<App>) -> Result<()> {
    member.may_decide()?;
    let mut tx = app.outbox.begin().await?;
    super::delete(&mut tx, member.project.id).await?;
    Ok(tx.commit().await?)
}

async fn export(member: Member, State(app): State<App>) -> Result<Json<Export>> {
    let mut tx = app.outbox.begin().await?;
    let copy = super::export(&mut tx, member.project.id).await?;
    tx.commit().await?;
    Ok(Json(copy))
}

type OfUser = Path<(ProjectId, UserId)>;

async fn add_member(
    member: Member,
    State(app): State<App>,
    Path((_, user)): OfUser,
    Json(wish): Json<As>,
) -> Result<()> {
    member.may_decide()?;
    let mut tx = app.outbox.begin().await?;
    super::add_member(&mut tx, &member.project, user, wish.role).await?;
    Ok(tx.commit().await?)
}

async fn set_role(member: Member, State(app): State<App>, Path((_, user)): OfUser, Json(wish): Json<As>) -> Result<()> {
    member.may_decide()?;
    let mut tx = app.outbox.begin().await?;
    super::set_role(&mut tx, &member.project, user, wish.role).await?;
    Ok(tx.commit().await?)
}

async fn remove_member(member: Member, State(app): State<App>, Path((_, user)): OfUser) -> Result<()> {
    member.may_decide()?;
    let mut tx = app.outbox.begin().await?;
    super::remove_member(&mut tx, &member.project, user).await?;
    Ok(tx.commit().await?)
}

async fn transfer_ownership(member: Member, State(app): State<App>, Json(to): Json<Owner>) -> Result<()> {
    member.may_decide()?;
    let mut tx = app.outbox.begin().await?;
    super::transfer_ownership(&mut tx, &member.project, member.user.id, to.user).await?;
    Ok(tx.commit().await?)
}

type OfProject = Path<(ProjectId, ProjectId)>;

async fn add_dependency(member: Member, State(app): State<App>, Path((_, other)): OfProject) -> Result<()> {
    member.may_decide()?;
    let mut tx = app.outbox.begin().await?;
    super::add_dependency(&mut tx, &member.project, other).await?;
    Ok(tx.commit().await?)
}

async fn remove_dependency(member: Member, State(app): State<App>, Path((_, other)): OfProject) -> Result<()> {
    member.may_decide()?;
    let mut tx = app.outbox.begin().await?;
    super::remove_dependency(&mut tx, &member.project, other).await?;
    Ok(tx.commit().await?)
}

async fn create_label(member: Member, State(app): State<App>, Json(wish): Json<Name>) -> Result<Json<Label>> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    let label = super::create_label(&mut tx, member.project.id, &wish.name).await?;
    tx.commit().await?;
    Ok(Json(label))
}

type OfLabel = Path<(ProjectId, LabelId)>;

async fn update_label(
    member: Member,
    State(app): State<App>,
    Path((project, label)): OfLabel,
    Json(wish): Json<Name>,
) -> Result<()> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    super::update_label(&mut tx, project, label, &wish.name).await?;
    Ok(tx.commit().await?)
}

async fn delete_label(member: Member, State(app): State<App>, Path((project, label)): OfLabel) -> Result<()> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    super::delete_label(&mut tx, project, label).await?;
    Ok(tx.commit().await?)
}

async fn create_epic(member: Member, State(app): State<App>, Json(wish): Json<Title>) -> Result<Json<Epic>> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    let epic = super::create_epic(&mut tx, member.project.id, &wish.title).await?;
    tx.commit().await?;
    Ok(Json(epic))
}

type OfEpic = Path<(ProjectId, EpicId)>;

async fn update_epic(
    member: Member,
    State(app): State<App>,
    Path((project, epic)): OfEpic,
    Json(wish): Json<Title>,
) -> Result<()> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    super::update_epic(&mut tx, project, epic, &wish.title).await?;
    Ok(tx.commit().await?)
}

async fn set_epic_status(
    member: Member,
    State(app): State<App>,
    Path((project, epic)): OfEpic,
    Json(wish): Json<Status>,
) -> Result<()> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    super::set_epic_status(&mut tx, project, epic, &wish.status).await?;
    Ok(tx.commit().await?)
}

async fn delete_epic(member: Member, State(app): State<App>, Path((project, epic)): OfEpic) -> Result<()> {
    member.may_work()?;
    let mut tx = app.outbox.begin().await?;
    super::delete_epic(&mut tx, project, epic).await?;
    Ok(tx.commit().await?)
}
