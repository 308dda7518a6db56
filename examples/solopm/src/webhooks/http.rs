//! What the server answers about outgoing webhooks.

use axum::extract::{Path, State};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use outbox_webhooks::{DeliveryId, Endpoint, EndpointId, NewEndpoint};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::ids::ProjectId;
use crate::projects::Member;
use crate::refused::{Refused, Result};

/// Most deliveries that are shown.
const SHOWN: u32 = 50;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/projects/{project}/webhooks", get(all).post(create))
        .route("/api/projects/{project}/webhooks/{endpoint}", delete(remove))
        .route("/api/projects/{project}/webhooks/{endpoint}/deliveries", get(log))
        .route("/api/projects/{project}/webhooks/{endpoint}/deliveries/{delivery}/again", post(again))
}

#[derive(Deserialize)]
struct Wish {
    url: String,
    /// None: all.
    #[serde(default)]
    event_types: Vec<String>,
    /// Not what an incoming webhook has caused: for a service that is told here and tells back.
    #[serde(default)]
    skip_via_webhook: bool,
}

type OfEndpoint = Path<(ProjectId, EndpointId)>;

async fn create(member: Member, State(app): State<App>, Json(wish): Json<Wish>) -> Result<Json<Value>> {
    member.may_decide()?;
    let endpoint = NewEndpoint::new(member.project.id.to_string(), wish.url)
        .event_types(wish.event_types)
        .skip_via_webhook(wish.skip_via_webhook);
    let created = app.webhooks.create(&mut *app.pool().acquire().await?, endpoint).await?;
    Ok(Json(json!({ "id": created.endpoint.id, "secret": created.secret.expose() })))
}

async fn all(member: Member, State(app): State<App>) -> Result<Json<Value>> {
    member.may_decide()?;
    let project = member.project.id.to_string();
    let endpoints = app.webhooks.endpoints(&mut *app.pool().acquire().await?, &project).await?;
    let shown = |one: Endpoint| json!({ "id": one.id, "event_types": one.event_types, "disabled_at": one.disabled_at });
    Ok(Json(endpoints.into_iter().map(shown).collect()))
}

async fn remove(member: Member, State(app): State<App>, Path((_, id)): OfEndpoint) -> Result<()> {
    its_own(&app, &member, id).await?;
    Ok(app.webhooks.delete(&mut *app.pool().acquire().await?, id).await?)
}

async fn log(member: Member, State(app): State<App>, Path((_, id)): OfEndpoint) -> Result<Json<Value>> {
    its_own(&app, &member, id).await?;
    let deliveries = app.webhooks.deliveries(&mut *app.pool().acquire().await?, id, SHOWN).await?;
    let shown = deliveries.into_iter().map(|one| {
        json!({
            "id": one.id,
            "event_type": one.event_type,
            "event_id": one.event_id.to_string(),
            "status": one.status.as_str(),
            "attempts": one.attempts,
            "last_error": one.last_error,
        })
    });
    Ok(Json(shown.collect()))
}

/// Sends it once more, under the same id.
async fn again(
    member: Member,
    State(app): State<App>,
    Path((_, id, delivery)): Path<(ProjectId, EndpointId, DeliveryId)>,
) -> Result<()> {
    its_own(&app, &member, id).await?;
    let mut tx = app.outbox.begin().await?;
    let found = app.webhooks.delivery(&mut tx, delivery).await?;
    found.filter(|one| one.endpoint == id).ok_or(Refused::NotFound("delivery"))?;
    app.webhooks.redeliver(&app.outbox, &mut tx, delivery).await?;
    Ok(tx.commit().await?)
}

/// An endpoint of another project is not there.
async fn its_own(app: &App, member: &Member, id: EndpointId) -> Result<()> {
    member.may_decide()?;
    let endpoint = app.webhooks.endpoint(&mut *app.pool().acquire().await?, id).await?;
    let own = endpoint.filter(|one| one.tenant == member.project.id.to_string());
    own.map(drop).ok_or(Refused::NotFound("webhook"))
}
