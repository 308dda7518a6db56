//! Who is told of an event, and how.

use outbox::prelude::*;
use sqlx::PgConnection;

use super::SendEmail;
use crate::context::Origin;
use crate::ids::{NotificationId, UserId};
use crate::users::EmailMode;

/// Those whom an event concerns.
///
/// Whom it concerns is as of the event, and stands in it. Whether they may still hear of it is as of now: what happens in a
/// project is for its members.
#[derive(Debug, Default)]
pub(super) struct Audience<'a> {
    users: &'a [UserId],
    mentioned: &'a [String],
    outsiders_too: bool,
}

impl<'a> Audience<'a> {
    /// These users, as far as they still belong to the project.
    pub(super) fn members(users: &'a [UserId]) -> Self {
        Self { users, ..Self::default() }
    }

    /// These users, although they may not belong to the project any more: the news is that they do not.
    pub(super) fn anyone(users: &'a [UserId]) -> Self {
        Self { users, outsiders_too: true, ..Self::default() }
    }

    /// And those of these names.
    pub(super) fn mentioned(self, mentioned: &'a [String]) -> Self {
        Self { mentioned, ..self }
    }

    /// Writes a row for each of them but the actor, and a job for the mail of each who wants one at once. Whoever has a row for
    /// this event already gets neither.
    pub(super) async fn told(self, tx: &mut PgConnection, event: &Envelope, headline: &str) -> HandlerResult {
        let origin = Origin::from(&event.metadata);
        let insert = sqlx::query_as(include_str!("tell.sql"))
            .bind(&event.name)
            .bind(&event.subject.kind)
            .bind(event.subject.id.as_deref().unwrap_or_default())
            .bind(event.id.as_uuid())
            .bind(origin.project)
            .bind(headline)
            .bind(self.users)
            .bind(self.mentioned)
            .bind(origin.user)
            .bind(self.outsiders_too);
        let told: Vec<(NotificationId, EmailMode)> = insert.fetch_all(&mut *tx).await?;
        for (notification, _) in told.into_iter().filter(|(_, mode)| *mode == EmailMode::Instant) {
            SendEmail { notification }.enqueue(tx).await?;
        }
        Ok(())
    }
}
