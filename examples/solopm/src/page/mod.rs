//! The page: plain HTML, a stylesheet and a script, served from the program itself.

use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::IntoResponse;
use axum::routing::get;

use crate::app::App;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(file("text/html; charset=utf-8", include_str!("index.html"))))
        .route("/style.css", get(file("text/css", include_str!("style.css"))))
        .route("/app.js", get(file("text/javascript", include_str!("app.js"))))
        .route("/icon.svg", get(file("image/svg+xml", include_str!("icon.svg"))))
}

/// Nothing comes from elsewhere, and no script stands in the page itself.
fn file(kind: &'static str, content: &'static str) -> impl IntoResponse + Clone + Send + Sync + 'static {
    let policy = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-cache"), (CONTENT_SECURITY_POLICY, policy)], content)
}
