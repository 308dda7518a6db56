//! Brings this crate's tables up to date, in the outbox's schema and with a history of their own.

use std::time::Duration;

use outbox::{InvalidSchema, Schema};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, PgPool};

use crate::webhooks::Webhooks;

/// Longest wait for another process that migrates, and for a table.
const LOCK_LIMIT: &str = "10s";
/// Longest time that a migration may take from the connection to the commit.
const DEADLINE: Duration = Duration::from_mins(1);

/// Forward only; a released one never changes. They use unqualified names.
const MIGRATIONS: [(i32, &str); 1] = [(1, include_str!("../migrations/0001_webhook.sql"))];

/// Why the tables are not there.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// The schema is no plain name.
    #[error(transparent)]
    Schema(#[from] InvalidSchema),
    /// The outbox's own tables have to be there first.
    #[error("the schema `{0}` holds no outbox: run `outbox::migrate` first, or say another `.schema(..)`")]
    NoOutbox(String),
    /// The tables were made by a newer release.
    #[error(
        "the webhook tables in `{schema}` are at version {found}, and this program knows {known}: run the newer release"
    )]
    TooNew {
        /// Where they are.
        schema: String,
        /// Their version.
        found: i32,
        /// The newest that this program knows.
        known: i32,
    },
    /// It took more than a minute; nothing is half done.
    #[error("the migration took longer than a minute and was given up; nothing is half done, run it again")]
    Deadline,
    /// The database refused; nothing is half done.
    #[error("the webhook tables cannot be brought up to date")]
    Database(#[from] sqlx::Error),
}

impl Webhooks {
    /// Brings the tables up to date, in one transaction. Safe to call from many processes at once, and again. Needs the right to create
    /// tables in the outbox's schema; where they are up to date, the right to read their history is enough.
    ///
    /// # Errors
    /// See [`MigrateError`]; whatever it is, nothing is half done.
    ///
    /// # Cancel safety
    /// Dropped in the middle, nothing is half done.
    pub async fn migrate(&self) -> Result<(), MigrateError> {
        let run = migrate(self.pool(), self.schema());
        tokio::time::timeout(DEADLINE, run).await.unwrap_or(Err(MigrateError::Deadline))
    }
}

async fn migrate(pool: &PgPool, schema: &Schema) -> Result<(), MigrateError> {
    // A connection of its own: a future that is dropped takes it with it, and the settings below stay with it.
    let mut connection = PgConnection::connect_with(pool.connect_options().as_ref()).await?;
    let mut transaction = connection.begin_with("begin isolation level read committed").await?;
    apply(&mut transaction, schema).await?;
    transaction.commit().await?;
    // It is done; a connection that does not close politely changes nothing of that.
    let _ = connection.close().await;
    Ok(())
}

async fn apply(connection: &mut PgConnection, schema: &Schema) -> Result<(), MigrateError> {
    let name = schema.as_str();
    // Before anything that takes a right: who may only read the history learns that there is nothing to do.
    if applied(connection, schema).await? >= Some(newest()) {
        return Ok(());
    }
    connection.execute(AssertSqlSafe(format!("set local lock_timeout = '{LOCK_LIMIT}'"))).await?;
    let turn = sqlx::query("select pg_advisory_xact_lock(hashtextextended($1, 0))");
    turn.bind(format!("outbox webhooks migrate {name}")).execute(&mut *connection).await?;
    if !is_there(connection, schema, "job").await? {
        return Err(MigrateError::NoOutbox(name.to_owned()));
    }
    // Again, behind the lock.
    let found = applied(connection, schema).await?;
    // pg_temp last: nobody's temporary table may stand in for one of ours.
    connection.execute(AssertSqlSafe(format!("set local search_path to \"{name}\", pg_temp"))).await?;
    if found.is_none() {
        connection.execute(sqlx::raw_sql(include_str!("migrate_history.sql"))).await?;
    }
    for (_, text) in MIGRATIONS.iter().filter(|(version, _)| *version > found.unwrap_or(0)) {
        connection.execute(sqlx::raw_sql(*text)).await?;
    }
    Ok(())
}

fn newest() -> i32 {
    MIGRATIONS.last().map_or(0, |(version, _)| *version)
}

async fn is_there(connection: &mut PgConnection, schema: &Schema, table: &str) -> Result<bool, sqlx::Error> {
    let qualified = format!("\"{}\".{table}", schema.as_str());
    sqlx::query_scalar("select to_regclass($1) is not null").bind(qualified).fetch_one(connection).await
}

/// The newest version that the history holds; `None` where there is no history. Newer ones than this program's have to say that it works
/// on them, so that in a rolling deployment the release before can still be started.
async fn applied(connection: &mut PgConnection, schema: &Schema) -> Result<Option<i32>, MigrateError> {
    if !is_there(connection, schema, "webhook_migration").await? {
        return Ok(None);
    }
    let known = newest();
    let text = format!(
        "select coalesce(max(version), 0), coalesce(bool_or(coalesce(compatible_from > $1, true)) filter (where version > $1), false)
         from \"{}\".webhook_migration",
        schema.as_str()
    );
    let (found, is_too_new) = sqlx::query_as(AssertSqlSafe(text)).bind(known).fetch_one(connection).await?;
    if is_too_new {
        Err(MigrateError::TooNew { schema: schema.as_str().to_owned(), found, known })
    } else {
        Ok(Some(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbered_without_gaps_and_write_their_row() {
        for (place, (version, text)) in MIGRATIONS.iter().enumerate() {
            assert_eq!(usize::try_from(*version), Ok(place + 1));
            let last = text.trim_end().lines().last().unwrap();
            assert!(
                last.starts_with(&format!("insert into webhook_migration (version, name) values ({version}, ")),
                "{last}"
            );
        }
    }
}
