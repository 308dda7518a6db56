//! What keeps a message from being published.

use super::is_not_migrated;
use crate::discreet::discreet;
use crate::jsonb::Refusal;
use crate::schema::Schema;

/// Why nothing was published (or enqueued).
///
/// Every variant but [`Database`](Self::Database) and [`NotMigrated`](Self::NotMigrated) leaves the transaction usable, and nothing
/// is written. (A `publish_all` of more than a thousand events that meets [`Unlinked`](Self::Unlinked) or
/// [`StaleSnapshot`](Self::StaleSnapshot) has written those of the statements before: roll back.)
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The connection has no open transaction, so that the event would not commit with the rows it speaks of.
    #[error(
        "`{name}` was not published: no transaction is open on this connection; begin one with `outbox.begin()` or `pool.begin()` (a raw `BEGIN` does not count)"
    )]
    NoTransaction {
        /// The event's or job's name.
        name: &'static str,
    },
    /// No `Outbox` was built in this process.
    #[error(
        "`{name}` was not published: no `Outbox` is built in this process; call `Outbox::builder(pool).build().await` first and keep it"
    )]
    NoOutbox {
        /// The event's or job's name.
        name: &'static str,
    },
    /// Several were built, and nothing says which one is meant.
    #[error(
        "`{name}` was not published: {count} outboxes are built in this process; say which with `outbox.publish(&mut tx, &event)` or `outbox.scope(..)`"
    )]
    SeveralOutboxes {
        /// The event's or job's name.
        name: &'static str,
        /// How many.
        count: usize,
    },
    /// The event is another service's to publish.
    #[error(
        "`{name}` was not published: it is the fact of the service `{owner}`, and {}; only its owner publishes a fact, others subscribe to it",
        service.as_ref().map_or_else(
            || format!("this process has not said which one it is: say `.service(\"{owner}\")` to `Outbox::builder(..)` if it is that one"),
            |service| format!("this process is a part of `{service}`"),
        )
    )]
    NotTheOwner {
        /// The event's name.
        name: &'static str,
        /// The service that publishes it.
        owner: &'static str,
        /// The one that this process says it is a part of.
        service: Option<String>,
    },
    /// The value does not become JSON.
    #[error("`{name}` cannot be written as JSON")]
    Encode {
        /// The event's or job's name.
        name: &'static str,
        /// What serde says.
        source: serde_json::Error,
    },
    /// The payload is larger than this outbox allows.
    #[error(
        "the payload of `{name}` has {size} bytes and the limit is {limit}: store the large part elsewhere and publish a reference, or raise `.payload_limit(..)`"
    )]
    TooLarge {
        /// The event's or job's name.
        name: &'static str,
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The payload is JSON that PostgreSQL does not store.
    #[error("the payload of `{name}` cannot be stored: {refusal}")]
    Payload {
        /// The event's or job's name.
        name: &'static str,
        /// Why.
        refusal: Refusal,
    },
    /// The subject, the key or a header holds a character that PostgreSQL does not store.
    #[error("the {what} of `{name}` cannot be stored: {refusal}")]
    Context {
        /// The event's or job's name.
        name: &'static str,
        /// Which part.
        what: &'static str,
        /// Why.
        refusal: Refusal,
    },
    /// The key is longer than the index of keys takes.
    #[error("the key of `{name}` has {size} bytes and the limit is {limit}: publish with a hash of it")]
    KeyTooLong {
        /// The event's or job's name.
        name: &'static str,
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The event has in-transaction subscribers that this binary does not link: without them it must not commit.
    #[error(
        "`{name}` was not published: its in-transaction subscribers {} are not linked into this binary; add their crates to `outbox::modules![..]`",
        quoted(handlers)
    )]
    Unlinked {
        /// The event's name.
        name: &'static str,
        /// The subscribers.
        handlers: Vec<String>,
    },
    /// An in-transaction subscriber failed. The event is undone with all that its subscribers wrote; the transaction goes on without it.
    #[error("`{name}` was not published: its in-transaction subscriber `{handler}` failed: {error}")]
    Subscriber {
        /// The event's name.
        name: &'static str,
        /// The subscriber.
        handler: &'static str,
        /// Its error and the causes of it, or that it panicked or timed out.
        error: String,
    },
    /// An in-transaction subscriber publishes an event that has in-transaction subscribers, which publish, and so on.
    #[error(
        "`{name}` was not published: in-transaction subscribers publish within each other, {limit} deep; does one of them receive what it \
         publishes?"
    )]
    TooDeep {
        /// The event's name.
        name: &'static str,
        /// How deep they may.
        limit: u8,
    },
    /// The transaction's snapshot is older than a subscriber's activation: retry the transaction, as for SQLSTATE 40001.
    #[error(
        "`{name}` was not published: a subscriber was activated after this transaction took its snapshot; retry the whole transaction"
    )]
    StaleSnapshot {
        /// The event's name.
        name: &'static str,
    },
    /// The tables are not there.
    #[error(
        "the schema `{schema}` has no outbox tables, or older ones than this binary: run `outbox::migrate(&pool)` first"
    )]
    NotMigrated {
        /// The schema.
        schema: String,
        /// What the database says.
        source: sqlx::Error,
    },
    /// The database refused the statement. The transaction is aborted, as after any failed statement.
    #[error("`{name}` was not published: the database refused the statement")]
    Database {
        /// The event's or job's name.
        name: &'static str,
        /// What the database says, without the detail that quotes the row.
        source: sqlx::Error,
    },
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

impl PublishError {
    pub(crate) fn database(name: &'static str, schema: &Schema, source: sqlx::Error) -> Self {
        let source = discreet(source);
        if is_not_migrated(&source) {
            Self::NotMigrated { schema: schema.as_str().to_owned(), source }
        } else {
            Self::Database { name, source }
        }
    }
}
