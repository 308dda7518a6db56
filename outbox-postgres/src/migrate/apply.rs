//! One try of a migration, on a connection with its transaction open.

use sqlx::{AssertSqlSafe, Executor, PgConnection, Row as _};

use super::standing::{Standing, has_history, standing};
use super::{Migration, Migrator};
use crate::discreet::without_line;
use crate::error::MigrateError;
use crate::schema::Schema;

/// Longest wait for another process that migrates this schema. Nobody stands behind this request but others like it.
const TURN_LIMIT_MS: u32 = 10_000;
/// Longest wait for a table: everybody who comes behind the request waits as long.
const LOCK_LIMIT_MS: u32 = 300;
/// How long the server keeps the transaction of a process that froze or lost its network: it holds tables.
const IDLE_LIMIT_MS: u32 = 10_000;

/// What a try came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Applied {
    /// The tables are up to date.
    All,
    /// One migration more, and there are others.
    One,
}

impl Migrator {
    /// All of them where there are no tables yet, else the next one only: each that is applied keeps its locks to the end of the
    /// transaction, and whoever holds one busy table while he waits for another waits for those who do the same the other way
    /// round.
    pub(super) async fn apply_pending(
        &self,
        connection: &mut PgConnection,
        schema: &Schema,
    ) -> Result<Applied, MigrateError> {
        limit(connection).await?;
        // Before anything that takes a right: who may only read the history learns that there is nothing to do.
        if self.outstanding(connection, schema).await?.is_empty() {
            return Ok(Applied::All);
        }
        prepare(connection, schema).await?;
        let pending = self.outstanding(connection, schema).await?;
        let at_once = if pending.len() == self.migrations.len() { pending.len() } else { pending.len().min(1) };
        for migration in &pending[..at_once] {
            apply(connection, schema, migration).await?;
        }
        Ok(if at_once == pending.len() { Applied::All } else { Applied::One })
    }

    /// What is to be applied, by what the history says now.
    async fn outstanding(
        &self,
        connection: &mut PgConnection,
        schema: &Schema,
    ) -> Result<Vec<&Migration>, MigrateError> {
        let known = self.newest();
        if let Standing::TooNew(found) = standing(connection, schema, known).await? {
            return Err(MigrateError::TooNew { schema: schema.as_str().to_owned(), found, known });
        }
        let applied = applied(connection, schema).await?;
        self.pending(schema, &applied)
    }

    /// Those that the history does not hold, when it holds the others as this binary knows them.
    fn pending(&self, schema: &Schema, applied: &[(i32, Option<String>)]) -> Result<Vec<&Migration>, MigrateError> {
        let mut pending = Vec::new();
        for migration in self.migrations.iter() {
            match applied.iter().find(|(version, _)| *version == migration.version) {
                // Applied by hand, it has no checksum to compare.
                Some((version, Some(checksum))) if *checksum != checksum_of(migration) => {
                    return Err(MigrateError::Changed { schema: schema.as_str().to_owned(), version: *version });
                }
                Some(_) => {}
                None => pending.push(migration),
            }
        }
        Ok(pending)
    }
}

/// How long this transaction waits, and how long the server waits for it.
async fn limit(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let limits = format!(
        "set local lock_timeout = {LOCK_LIMIT_MS}; set local idle_in_transaction_session_timeout = {IDLE_LIMIT_MS}"
    );
    connection.execute(sqlx::raw_sql(AssertSqlSafe(limits))).await?;
    Ok(())
}

/// The turn among those who migrate, and the schema.
async fn prepare(connection: &mut PgConnection, schema: &Schema) -> Result<(), sqlx::Error> {
    let name = schema.as_str();
    connection.execute(AssertSqlSafe(format!("set local lock_timeout = {TURN_LIMIT_MS}"))).await?;
    sqlx::query("select pg_advisory_xact_lock(hashtextextended($1, 0))")
        .bind(format!("outbox migrate {name}"))
        .execute(&mut *connection)
        .await?;
    connection.execute(AssertSqlSafe(format!("set local lock_timeout = {LOCK_LIMIT_MS}"))).await?;
    let there =
        sqlx::query("select from pg_namespace where nspname = $1").bind(name).fetch_optional(&mut *connection).await?;
    if there.is_none() {
        // Not `if not exists`: that asks for the right to create even where nothing is to be created.
        connection.execute(AssertSqlSafe(format!("create schema \"{name}\""))).await?;
    }
    // pg_temp last: nobody's temporary table may stand in for one of ours.
    connection.execute(AssertSqlSafe(format!("set local search_path to \"{name}\", pg_temp"))).await?;
    Ok(())
}

/// What the history holds, with the checksums of what was not applied by hand.
async fn applied(connection: &mut PgConnection, schema: &Schema) -> Result<Vec<(i32, Option<String>)>, sqlx::Error> {
    if !has_history(connection, schema).await? {
        return Ok(Vec::new());
    }
    let history = schema.table("migration");
    let text = format!("select version, checksum from {history} order by version");
    let rows = sqlx::query(AssertSqlSafe(text)).fetch_all(connection).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

async fn apply(connection: &mut PgConnection, schema: &Schema, migration: &Migration) -> Result<(), MigrateError> {
    let failed = |source| MigrateError::Failed {
        version: migration.version,
        name: migration.name,
        source: without_line(source),
    };
    sqlx::raw_sql(migration.text).execute(&mut *connection).await.map_err(failed)?;
    let history = schema.table("migration");
    let text = format!("update {history} set checksum = $2 where version = $1");
    sqlx::query(AssertSqlSafe(text))
        .bind(migration.version)
        .bind(checksum_of(migration))
        .execute(connection)
        .await
        .map_err(failed)?;
    Ok(())
}

/// Tells texts apart by accident, not by malice.
fn checksum_of(migration: &Migration) -> String {
    format!("{:016x}", outbox_core::name::hash(migration.text))
}
