//! Brings the tables up to date, in a schema and with a history of their own.
//!
//! Tables that are not there yet are made in one transaction, and those that are there are changed in one for each migration, behind
//! a lock that ends with it: several processes can migrate at once, and one that dies in the middle leaves nothing half done. The
//! same files can be applied by hand: they use unqualified names, so `set search_path to system, pg_temp` and run them in order. Each
//! writes its row of the history itself.
//!
//! The history is read first, and again behind the lock: where nothing is to be done, no right is needed but to read it.
//!
//! Workers and publishers go on meanwhile. A table that somebody holds is not waited for in the queue of its lock, where everybody
//! else would wait behind this request: the try ends after a moment, and another begins a little later.

mod apply;
mod standing;

use std::borrow::Cow;
use std::time::Duration;

use outbox_core::Backoff;
use sqlx::{Connection, PgConnection, PgPool};
use tokio::time::Instant;

use self::apply::Applied;
pub(crate) use self::standing::{Standing, standing};
use crate::error::MigrateError;
use crate::lane::LaneError;
use crate::schema::Schema;
use crate::sqlstate::{self, Class};

/// How long a table is tried for that somebody else holds.
const PATIENCE: Duration = Duration::from_mins(1);
/// Between two tries: long enough for those who stood behind the last one.
const PAUSES: Backoff = Backoff::exponential(Duration::from_millis(100), Duration::from_secs(2));
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
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
static MIGRATIONS: [Migration; 18] = migrations![
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
    11 "0011_from_ulid_is_ascii",
    12 "0012_retention",
    13 "0013_autovacuum",
    14 "0014_schedule",
    15 "0015_lease",
    16 "0016_quarantine",
    17 "0017_outcome",
    18 "0018_catalogue",
];

/// The newest version that this binary knows.
pub(crate) const NEWEST: i32 = MIGRATIONS[MIGRATIONS.len() - 1].version;

/// Brings the tables in the schema `system` up to date. Safe to run from many processes at once, and again, while workers and
/// publishers work.
///
/// Needs neither a superuser nor an extension: the right to create a schema in this database, or one that is there and is
/// the caller's. Where they are up to date already, the right to read their history is enough, which each of the four
/// [`Roles`](crate::Roles) has.
///
/// # Errors
/// See [`MigrateError`]; whatever it is, no migration is half applied, and a schema without tables has none.
///
/// # Cancel safety
/// Dropped in the middle, no migration is half applied.
pub async fn migrate(pool: &PgPool) -> Result<(), MigrateError> {
    migrate_schema(pool, crate::schema::DEFAULT_SCHEMA).await
}

/// As [`migrate`], in a schema of another name.
///
/// # Errors
/// See [`MigrateError`]; whatever it is, no migration is half applied, and a schema without tables has none.
///
/// # Cancel safety
/// Dropped in the middle, no migration is half applied.
pub async fn migrate_schema(pool: &PgPool, schema: &str) -> Result<(), MigrateError> {
    Migrator::ours().run(pool, schema).await
}

/// What [`migrate`] runs. Apart from it so that tests can add a migration that does not exist yet.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub struct Migrator {
    migrations: Cow<'static, [Migration]>,
    patience: Duration,
}

impl Migrator {
    /// The migrations of this binary.
    #[must_use]
    pub fn ours() -> Self {
        Self { migrations: Cow::Borrowed(&MIGRATIONS), patience: PATIENCE }
    }

    /// The same, and one more.
    #[must_use]
    pub fn and(mut self, name: &'static str, text: &'static str) -> Self {
        let version = self.newest() + 1;
        self.migrations.to_mut().push(Migration { version, name, text });
        self
    }

    /// How long a table is tried for that somebody else holds.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Brings the tables in `schema` up to date.
    ///
    /// # Errors
    /// See [`MigrateError`]; whatever it is, no migration is half applied.
    pub async fn run(&self, pool: &PgPool, schema: &str) -> Result<(), MigrateError> {
        let schema = Schema::new(schema)?;
        let (mut begun, mut tries) = (Instant::now(), 0);
        loop {
            let error = match self.attempt(pool, &schema).await {
                Ok(Applied::All) => return Ok(()),
                Ok(Applied::One) => {
                    (begun, tries) = (Instant::now(), 0);
                    continue;
                }
                Err(error) if is_held(&error) => error,
                Err(error) => return Err(as_owner(error, &schema)),
            };
            tries += 1;
            let pause = PAUSES.delay(tries, rand::random());
            if begun.elapsed() + pause > self.patience {
                return Err(MigrateError::Held { schema: schema.as_str().to_owned(), tries, source: Box::new(error) });
            }
            tracing::info!(
                schema = schema.as_str(),
                tries,
                "somebody holds a lock that a migration needs, trying again"
            );
            tokio::time::sleep(pause).await;
        }
    }

    async fn attempt(&self, pool: &PgPool, schema: &Schema) -> Result<Applied, MigrateError> {
        // A connection of its own: the settings below must not reach the application's, and a future that is dropped takes the
        // connection with it.
        let options = pool.connect_options().as_ref().clone().application_name("outbox migrate");
        let connection = tokio::time::timeout(CONNECT_LIMIT, PgConnection::connect_with(&options)).await;
        let mut connection = connection.unwrap_or_else(|_| Err(LaneError::Deadline(CONNECT_LIMIT).into()))?;
        // Whatever the default is: what others have migrated while this one waited for the lock has to be seen.
        let mut transaction = connection.begin_with("begin isolation level read committed").await?;
        let applied = self.apply_pending(&mut transaction, schema).await?;
        transaction.commit().await?;
        // It is done; a connection that does not close politely changes nothing of that.
        let _ = connection.close().await;
        Ok(applied)
    }

    /// The newest version among them.
    #[must_use]
    pub fn newest(&self) -> i32 {
        self.migrations.last().map_or(0, |migration| migration.version)
    }
}

/// Whether somebody else held what was needed, so that it is worth another try.
fn is_held(error: &MigrateError) -> bool {
    match error {
        MigrateError::Database(source) | MigrateError::Failed { source, .. } => {
            // A statement that was cancelled is a limit of the application's, or a person.
            matches!(sqlstate::classify(source), Class::Locked | Class::Conflict)
                && sqlstate::code(source).as_deref() != Some(sqlstate::QUERY_CANCELED)
        }
        _ => false,
    }
}

/// What is to be done takes the owner's rights, and this role has not got them.
fn as_owner(error: MigrateError, schema: &Schema) -> MigrateError {
    match error {
        MigrateError::Database(source) | MigrateError::Failed { source, .. }
            if sqlstate::code(&source).as_deref() == Some(sqlstate::INSUFFICIENT_PRIVILEGE) =>
        {
            MigrateError::NotAllowed { schema: schema.as_str().to_owned(), source }
        }
        other => other,
    }
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
