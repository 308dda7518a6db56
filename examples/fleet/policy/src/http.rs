//! Commands and questions over HTTP.

use std::io;

use axum::extract::{FromRequestParts, Path, Query, Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::{get, post, put};
use axum::{Json, Router};
use contracts::{Money, PolicyState};
use outbox::Outbox;
use platform::Release;
use serde::Deserialize;
use tokio::net::TcpListener;
use tracing::Instrument as _;

use crate::agent::Agent;
use crate::amend::{Amend, amend};
use crate::cancel::{Cancel, cancel};
use crate::command::check;
use crate::create::{Create, create};
use crate::read;
use crate::refused::{Refused, Result};

#[derive(Debug, Clone)]
struct App {
    outbox: Outbox,
    release: Release,
}

/// Answers requests until `shutdown`, and those under way to their end.
///
/// # Errors
/// When it cannot listen any more.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    axum::serve(listener, router).with_graceful_shutdown(shutdown).await
}

/// Every address of the service. Each request is a span of the trace that its header `traceparent` names.
pub fn router(outbox: Outbox, release: Release) -> Router {
    Router::new()
        .route("/policies", get(page).post(sell))
        .route("/policies/{policy}", get(find))
        .route("/policies/{policy}/premium", put(change))
        .route("/policies/{policy}/cancel", post(end))
        .layer(from_fn(traced))
        .with_state(App { outbox, release })
}

async fn traced(request: Request, next: Next) -> Response {
    let parent = request.headers().get("traceparent").and_then(|value| value.to_str().ok());
    let (method, path) = (request.method().as_str(), request.uri().path());
    let span = tracing::info_span!("request", method, path, traceparent = parent);
    next.run(request).instrument(span).await
}

impl<S: Sync> FromRequestParts<S> for Agent {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let token = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        Self::by_token(token.unwrap_or_default())
    }
}

async fn sell(by: Agent, State(app): State<App>, Json(command): Json<Create>) -> Result<Json<PolicyState>> {
    create(&app.outbox, app.release, check(command, by)?).await.map(Json)
}

/// What a policy costs from now on.
#[derive(Deserialize)]
struct Change {
    revision: i32,
    premium: Money,
}

async fn change(
    by: Agent,
    State(app): State<App>,
    Path(policy_id): Path<String>,
    Json(Change { revision, premium }): Json<Change>,
) -> Result<Json<PolicyState>> {
    amend(&app.outbox, check(Amend { policy_id, revision, premium }, by)?).await.map(Json)
}

#[derive(Deserialize)]
struct End {
    revision: i32,
}

async fn end(
    by: Agent,
    State(app): State<App>,
    Path(policy_id): Path<String>,
    Json(End { revision }): Json<End>,
) -> Result<Json<PolicyState>> {
    cancel(&app.outbox, check(Cancel { policy_id, revision }, by)?).await.map(Json)
}

async fn find(_: Agent, State(app): State<App>, Path(policy_id): Path<String>) -> Result<Json<PolicyState>> {
    read::find(app.outbox.pool(), &policy_id).await?.map(Json).ok_or(Refused::NotFound)
}

#[derive(Deserialize)]
struct Behind {
    after: Option<String>,
    most: Option<i64>,
}

async fn page(
    _: Agent,
    State(app): State<App>,
    Query(Behind { after, most }): Query<Behind>,
) -> Result<Json<Vec<PolicyState>>> {
    read::page(app.outbox.pool(), after.as_deref(), most.unwrap_or(read::PAGE)).await.map(Json)
}
