//! Who asks: a token, in the header `Authorization: Bearer ..` or in a cookie.

use axum::extract::{FromRequestParts, RawPathParams, Request, State};
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE as COOKIES};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use outbox::Metadata;

use crate::app::App;
use crate::context;
use crate::ids::ProjectId;
use crate::projects::{Member, member};
use crate::refused::{Refused, Result};
use crate::users::{self, User};

/// The cookie that holds the token of a browser.
pub(crate) const COOKIE: &str = "solopm";

/// Says once a request who acts: every event that the request publishes carries it, and everything that follows from those.
pub(crate) async fn scope(State(app): State<App>, mut request: Request, next: Next) -> Result<Response> {
    let user = match token(request.headers()) {
        Some(token) => users::by_token(app.pool(), token).await?,
        None => None,
    };
    let context = user.as_ref().map_or_else(Metadata::new, |user| context::of_user(user.id));
    request.extensions_mut().insert(user);
    Ok(app.outbox.scope_with(context, next.run(request)).await)
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let cookies = headers.get_all(COOKIES).into_iter().filter_map(|value| value.to_str().ok());
    let cookie = cookies.flat_map(|all| all.split("; ")).find_map(|one| one.strip_prefix(COOKIE)?.strip_prefix('='));
    bearer.or(cookie)
}

impl FromRequestParts<App> for User {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self> {
        parts.extensions.get::<Option<Self>>().cloned().flatten().ok_or(Refused::SignedOut)
    }
}

/// The user, in the project that the path names. To whoever does not belong to it, it is not there.
impl FromRequestParts<App> for Member {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let user = User::from_request_parts(parts, app).await?;
        let missing = || Refused::NotFound("project");
        let path = RawPathParams::from_request_parts(parts, app).await.map_err(|_| missing())?;
        let project: Option<ProjectId> =
            path.iter().find(|(name, _)| *name == "project").and_then(|(_, id)| id.parse().ok());
        member(app.pool(), user, project.ok_or_else(missing)?).await?.ok_or_else(missing)
    }
}

/// A user who runs this server.
#[derive(Debug)]
pub(crate) struct Admin;

impl FromRequestParts<App> for Admin {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let user = User::from_request_parts(parts, app).await?;
        if user.admin { Ok(Self) } else { Err(Refused::NotAllowed("who runs this server")) }
    }
}
