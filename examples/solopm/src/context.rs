//! The context of a request, as messages carry it: who, in which project, on whose behalf.
//!
//! It is said once a request (the actor, by the middleware in `session.rs`) and once an event (the project, by [`Emit`]), and
//! nowhere else: jobs, handlers and what they publish have it from the message that caused them.

use outbox::prelude::*;
use outbox::{Event, Metadata, Publishing};
use outbox_webhooks::VIA_WEBHOOK;
use sqlx::PgConnection;

use crate::ids::{ProjectId, UserId};

/// What a person does.
#[must_use]
pub fn of_user(user: UserId) -> Metadata {
    Metadata::new().actor(user.to_string())
}

/// What an incoming webhook causes. Its actor is the service that sent it, and no user.
#[must_use]
pub fn of_webhook(source: &str) -> Metadata {
    Metadata::new().actor(format!("webhook:{source}")).header(VIA_WEBHOOK, "true")
}

/// Publishes what happened in a project.
pub trait Emit: Event {
    /// As [`Publish::publish`], with the project in the context: in the caller's transaction, the audit's row included.
    fn emit<'c>(&self, tx: &'c mut PgConnection, project: ProjectId) -> Publishing<'c>;
}

impl<E: Event> Emit for E {
    fn emit<'c>(&self, tx: &'c mut PgConnection, project: ProjectId) -> Publishing<'c> {
        self.publish(tx).tenant(project.to_string())
    }
}

/// The context of a message, read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The user who did it; `None` for a service, and where nobody is known.
    pub user: Option<UserId>,
    /// The project that it happened in; `None` for what belongs to none.
    pub project: Option<ProjectId>,
    /// Whether an incoming webhook has caused it.
    pub via_webhook: bool,
}

impl From<&Metadata> for Origin {
    fn from(context: &Metadata) -> Self {
        Self {
            user: context.actor.as_deref().and_then(|actor| actor.parse().ok()),
            project: context.tenant.as_deref().and_then(|project| project.parse().ok()),
            via_webhook: context.headers.get(VIA_WEBHOOK).is_some_and(|said| said == "true"),
        }
    }
}
