//! prune: what has ended and is old enough goes, a bounded piece at a time.

use sqlx::{AssertSqlSafe, PgConnection, Row as _};

use crate::retention::Kind;
use crate::schema::Schema;

/// What can be pruned, each in a function of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chore {
    Succeeded,
    Events,
    Failed,
    Attempts,
    Inbox,
    PublishKeys,
}

impl Chore {
    /// Jobs before the events that they refer to, events before the keys that outlive them.
    pub(crate) const ALL: [Self; 6] =
        [Self::Succeeded, Self::Failed, Self::Attempts, Self::Events, Self::Inbox, Self::PublishKeys];

    /// Whose age it goes by.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Succeeded => Kind::Succeeded,
            Self::Events => Kind::Events,
            Self::Failed | Self::Attempts => Kind::Failed,
            Self::Inbox | Self::PublishKeys => Kind::Keys,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Events => "events",
            Self::Failed => "failed",
            Self::Attempts => "attempts",
            Self::Inbox => "inbox",
            Self::PublishKeys => "publish_keys",
        }
    }
}

/// What one piece came to. Nothing, when the chore is not due, or another node is at it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Pruned {
    /// Rows that went one by one.
    pub(crate) gone: i64,
    /// Events that jobs still refer to, kept apart from their week.
    pub(crate) moved: i64,
    pub(crate) dropped: Option<String>,
    /// Whether it is worth going on at once.
    pub(crate) more: bool,
    /// Whether somebody held a lock that it needs; it is due again a little later.
    pub(crate) held: bool,
}

pub(crate) async fn prune(
    connection: &mut PgConnection,
    schema: &Schema,
    chore: Chore,
    days: i32,
) -> Result<Pruned, sqlx::Error> {
    let function = schema.table(&format!("prune_{}", chore.name()));
    let text = format!(
        "-- prune: one bounded piece of one chore\n\
         select p.gone, p.moved, p.dropped, p.more, p.held from {function}(make_interval(days => $1)) p"
    );
    let row = sqlx::query(AssertSqlSafe(text)).bind(days).fetch_one(connection).await?;
    Ok(Pruned {
        gone: row.try_get(0)?,
        moved: row.try_get(1)?,
        dropped: row.try_get(2)?,
        more: row.try_get(3)?,
        held: row.try_get(4)?,
    })
}
