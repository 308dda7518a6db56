//! Brings the tables up to date, in a schema and with a history of their own.
//!
//! Everything happens in one transaction behind a lock that ends with it: several processes can migrate at once, and one that
//! dies in the middle leaves nothing behind. The same files can be applied by hand: they use unqualified names, so
//! `set search_path to system, pg_temp` and run them in order. Each writes its row of the history itself.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, PgPool, Row as _};

use crate::error::MigrateError;
use crate::schema::Schema;

struct Migration {
    version: i32,
    name: &'static str,
    text: &'static str,
}

macro_rules! migrations {
    ($($version:literal $name:literal),* $(,)?) => {
        [$(Migration { version: $version, name: $name, text: include_str!(concat!("../migrations/", $name, ".sql")) },)*]
    };
}

/// Forward only; a released one never changes.
static MIGRATIONS: [Migration; 10] = migrations![
    1 "0001_ulid",
    2 "0002_event",
    3 "0003_job",
    4 "0004_subscription",
    5 "0005_keys",
    6 "0006_worker",
    7 "0007_redrive",
    8 "0008_partitions",
    9 "0009_publish_key_is_final",
    10 "0010_cancel",
];

/// The newest version that this binary knows.
pub(crate) const NEWEST: i32 = MIGRATIONS[MIGRATIONS.len() - 1].version;

/// Brings the tables in the schema `system` up to date. Safe to run from many processes at once, and again.
///
/// Needs neither a superuser nor an extension: the right to create a schema in this database, or one that is there and is
/// the caller's.
///
/// # Errors
/// See [`MigrateError`]; whatever it is, nothing was changed.
///
/// # Cancel safety
/// Dropped in the middle, nothing is changed.
pub async fn migrate(pool: &PgPool) -> Result<(), MigrateError> {
    migrate_schema(pool, crate::schema::DEFAULT_SCHEMA).await
}

/// As [`migrate`], in a schema of another name.
///
/// # Errors
/// See [`MigrateError`]; whatever it is, nothing was changed.
///
/// # Cancel safety
/// Dropped in the middle, nothing is changed.
pub async fn migrate_schema(pool: &PgPool, schema: &str) -> Result<(), MigrateError> {
    let schema = Schema::new(schema)?;
    // A connection of its own: the settings below must not reach the application's, and a future that is dropped takes the
    // connection with it.
    let mut connection = PgConnection::connect_with(&pool.connect_options()).await?;
    // Whatever the default is: what others have migrated while this one waited for the lock has to be seen.
    let mut transaction = connection.begin_with("begin isolation level read committed").await?;
    apply_pending(&mut transaction, &schema).await?;
    transaction.commit().await?;
    // It is done; a connection that does not close politely changes nothing of that.
    let _ = connection.close().await;
    Ok(())
}

async fn apply_pending(connection: &mut PgConnection, schema: &Schema) -> Result<(), MigrateError> {
    prepare(connection, schema).await?;
    if let Standing::TooNew(found) = standing(connection, schema).await? {
        return Err(MigrateError::TooNew { schema: schema.as_str().to_owned(), found, known: NEWEST });
    }
    let applied = applied(connection, schema).await?;
    for migration in &MIGRATIONS {
        match applied.iter().find(|(version, _)| *version == migration.version) {
            // Applied by hand, it has no checksum to compare.
            Some((version, Some(checksum))) if *checksum != checksum_of(migration) => {
                return Err(MigrateError::Changed { schema: schema.as_str().to_owned(), version: *version });
            }
            Some(_) => {}
            None => apply(connection, schema, migration).await?,
        }
    }
    Ok(())
}

/// The lock and the schema.
async fn prepare(connection: &mut PgConnection, schema: &Schema) -> Result<(), sqlx::Error> {
    let name = schema.as_str();
    sqlx::query("select pg_advisory_xact_lock(hashtextextended($1, 0))")
        .bind(format!("outbox migrate {name}"))
        .execute(&mut *connection)
        .await?;
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
    let failed = |source| MigrateError::Failed { version: migration.version, name: migration.name, source };
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

/// How the tables stand to this binary.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// There are none, or older ones.
    Behind,
    /// This binary works on them. They may be newer, by migrations that say so.
    Fit,
    /// They are newer, and this binary does not work on them.
    TooNew(i32),
}

async fn has_history(connection: &mut PgConnection, schema: &Schema) -> Result<bool, sqlx::Error> {
    let text = "select to_regclass($1) is not null";
    sqlx::query(text).bind(schema.table("migration")).fetch_one(connection).await?.try_get(0)
}

/// How the tables in `schema` stand to this binary.
pub(crate) async fn standing(connection: &mut PgConnection, schema: &Schema) -> Result<Standing, sqlx::Error> {
    if !has_history(connection, schema).await? {
        return Ok(Standing::Behind);
    }
    let history = schema.table("migration");
    let text = format!(
        "select max(version), coalesce(bool_or(coalesce(compatible_from > $1, true)) filter (where version > $1), false) from {history}"
    );
    let row = sqlx::query(AssertSqlSafe(text)).bind(NEWEST).fetch_one(connection).await?;
    Ok(match (row.try_get::<Option<i32>, _>(0)?, row.try_get(1)?) {
        (Some(found), true) => Standing::TooNew(found),
        (Some(found), false) if found >= NEWEST => Standing::Fit,
        _ => Standing::Behind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbered_without_gaps_and_as_their_files() {
        for (place, migration) in MIGRATIONS.iter().enumerate() {
            assert_eq!(usize::try_from(migration.version), Ok(place + 1));
            assert!(migration.name.starts_with(&format!("{:04}_", migration.version)), "{}", migration.name);
            let plain = format!(
                "\ninsert into migration (version, name) values ({}, '{}');\n",
                migration.version, migration.name
            );
            let compatible = format!(
                "\ninsert into migration (version, name, compatible_from) values ({}, '{}', ",
                migration.version, migration.name
            );
            let last = migration.text.rfind("\ninsert into migration ").map_or("", |at| &migration.text[at..]);
            let own = last == plain || (last.starts_with(&compatible) && last.ends_with(");\n"));
            assert!(own, "{} does not write its row of the history", migration.name);
        }
    }
}
