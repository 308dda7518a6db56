//! What every request has at hand, and where each goes.

use axum::Router;
use axum::middleware::from_fn_with_state;
use outbox::Outbox;
use outbox_webhooks::Webhooks;
use sqlx::PgPool;

use crate::search::SearchIndex;
use crate::{
    admin, audit, comments, hooks, issues, live, notifications, page, projects, search, session, users, webhooks, wiki,
};

/// What every request has at hand.
#[derive(Debug, Clone)]
pub(crate) struct App {
    pub(crate) outbox: Outbox,
    pub(crate) search: SearchIndex,
    pub(crate) webhooks: Webhooks,
}

impl App {
    pub(crate) fn pool(&self) -> &PgPool {
        self.outbox.pool()
    }

    /// Every address of the server. Each request runs in its user's context.
    pub(crate) fn router(self) -> Router {
        let api = [
            users::routes(),
            projects::routes(),
            issues::routes(),
            comments::routes(),
            wiki::routes(),
            notifications::routes(),
            search::routes(),
            audit::routes(),
            live::routes(),
            webhooks::routes(),
            hooks::routes(),
            admin::routes(),
        ];
        let router = api.into_iter().fold(page::routes(), Router::merge);
        router.layer(from_fn_with_state(self.clone(), session::scope)).with_state(self)
    }
}
