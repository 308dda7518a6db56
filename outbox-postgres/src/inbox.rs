//! The inbox by itself: which messages a consumer of one's own has had the effect of.

use outbox_core::EventId;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::discreet::discreet;
use crate::schema::{InvalidSchema, Schema};

/// Marks of effects, for consumers that no `#[subscriber]` is: a loop over a broker's client, a webhook's receiver. A subscriber that takes `Tx` has
/// its marks by itself.
///
/// The marks stand in the table `inbox` of the service's own database, which [`migrate`](crate::migrate()) makes; nothing else of this crate has to
/// be used. A mark is written in the transaction of the effect, so both are there or neither, whatever dies, and of two copies of a message that arrive at
/// once the second waits for the first. Retention removes marks after months, not by a cache's choice.
///
/// ```no_run
/// # async fn example(pool: sqlx::PgPool, message: outbox_core::EventId) -> Result<(), Box<dyn std::error::Error>> {
/// let inbox = outbox_postgres::Inbox::new();
/// let mut tx = pool.begin().await?;
/// if inbox.is_first(&mut tx, "billing.open_account", message).await? {
///     sqlx::query("insert into account default values").execute(&mut *tx).await?;
/// }
/// tx.commit().await?; // acknowledge the message behind this, also where it was not the first
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Inbox {
    schema: Schema,
}

/// Why a mark was neither found nor written.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum InboxError {
    /// The connection has no open transaction, so that mark and effect would not commit together.
    #[error(
        "`{consumer}` marks nothing: no transaction is open on this connection; begin one with `pool.begin()`, and have the effect in it"
    )]
    NoTransaction {
        /// The consumer.
        consumer: String,
    },
    /// The database refused the statement. The transaction is aborted, as after any failed statement.
    #[error("the mark of `{consumer}` was not written: the database refused the statement")]
    Database {
        /// The consumer.
        consumer: String,
        /// What the database says.
        source: sqlx::Error,
    },
}

crate::error::debug_is_for_people!(InboxError);

impl Inbox {
    /// The one in the schema `system`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The one in another schema.
    ///
    /// # Errors
    /// When the name is no plain identifier.
    pub fn schema(self, name: &str) -> Result<Self, InvalidSchema> {
        Ok(Self { schema: Schema::new(name)? })
    }

    /// Whether `consumer` has not had the effect of this message yet; then its mark is written, in the caller's transaction, to which the
    /// effect belongs. Each consumer has marks of its own. Waits while another transaction has marked the same and has not ended.
    ///
    /// # Errors
    /// When no transaction is open, or the database refuses.
    ///
    /// # Cancel safety
    /// Not cancel safe: dropped in the middle, it leaves the statement's fate open. Roll the transaction back.
    pub async fn is_first(
        &self,
        transaction: &mut PgConnection,
        consumer: &str,
        message: EventId,
    ) -> Result<bool, InboxError> {
        let named = || consumer.to_owned();
        if !transaction.is_in_transaction() {
            return Err(InboxError::NoTransaction { consumer: named() });
        }
        let text =
            format!("insert into {} (handler, key) values ($1, $2) on conflict do nothing", self.schema.table("inbox"));
        let query = sqlx::query(AssertSqlSafe(text)).bind(consumer).bind(message.as_uuid());
        match query.execute(transaction).await {
            Ok(written) => Ok(written.rows_affected() == 1),
            Err(error) => Err(InboxError::Database { consumer: named(), source: discreet(error) }),
        }
    }
}
