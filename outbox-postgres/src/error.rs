//! The errors of each operation. Messages are lower case, name the thing and say what to do.

mod publish;

use std::time::Duration;

use outbox_core::{Fault, JobId};

use crate::discreet::{discreet, without_line};
use crate::lane::LaneError;
use crate::schema::InvalidSchema;
use crate::sqlstate;

pub use publish::PublishError;

fn is_not_migrated(error: &sqlx::Error) -> bool {
    sqlstate::classify(error) == sqlstate::Class::Setup && !is_not_allowed(error)
}

pub(crate) fn is_not_allowed(error: &sqlx::Error) -> bool {
    sqlstate::code(error).as_deref() == Some(sqlstate::INSUFFICIENT_PRIVILEGE)
}

/// Why an outbox was not built.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The wiring is wrong; every fault is named.
    #[error("the wiring of this binary is wrong:\n{}", lines(.0))]
    Wiring(Vec<Fault>),
    /// A setting cannot work.
    #[error("the settings cannot work:\n{}", lines(.0))]
    Settings(Vec<SettingFault>),
    /// The schema's name is no identifier.
    #[error(transparent)]
    Schema(#[from] InvalidSchema),
    /// The tables are missing, or older than this binary.
    #[error(
        "the schema `{schema}` has no outbox tables, or older ones than this binary: run `outbox::migrate(&pool)` first"
    )]
    NotMigrated {
        /// The schema.
        schema: String,
    },
    /// The tables are newer than this binary, and not compatible with it.
    #[error(
        "the schema `{schema}` is at version {found}, and this binary knows versions up to {known}: use a newer binary"
    )]
    TooNew {
        /// The schema.
        schema: String,
        /// The version found.
        found: i32,
        /// The newest version known.
        known: i32,
    },
    /// The connection's role may not use these tables.
    #[error(
        "this connection's role may not use the outbox in the schema `{schema}`: make it a member of `outbox_publisher` or \
         `outbox_worker`, which `outbox::Roles` grants"
    )]
    NotAllowed {
        /// The schema.
        schema: String,
        /// What the database says.
        source: sqlx::Error,
    },
    /// The pool and the engine together could need more connections than the database gives to this role.
    #[error(
        "the application's pool may take {pool} connections and the engine holds {engine} of its own, but the database allows this role \
         {allowed}: under load the pool would leave none to renew the lease; lower the pool's `max_connections`, or raise the limit of the \
         server (`max_connections`), the database or the role (`connection limit`)"
    )]
    Connections {
        /// The pool's `max_connections`.
        pool: u32,
        /// What the engine holds beside it.
        engine: u32,
        /// What the narrowest limit allows.
        allowed: u32,
    },
    /// The database refused a statement or was not there.
    #[error("the outbox could not be built")]
    Database(#[source] sqlx::Error),
}

fn lines<T: std::fmt::Display>(faults: &[T]) -> String {
    faults.iter().map(|fault| format!("  - {fault}")).collect::<Vec<_>>().join("\n")
}

impl From<LaneError> for BuildError {
    fn from(error: LaneError) -> Self {
        Self::Database(error.into())
    }
}

/// A setting of the builder that cannot work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingFault {
    /// The lease is too short to be renewed in time, or uselessly long.
    #[error("`.lease({0:?})`: a lease has 2 s to 10 min")]
    Lease(Duration),
    /// The interval of polling would keep the database busy, or never come round.
    #[error("`.poll_interval({0:?})`: an idle worker polls every 1 ms to 24 h")]
    PollInterval(Duration),
    /// A number that has to be at least one.
    #[error("`.{0}(0)`: at least 1 is needed")]
    Zero(&'static str),
    /// No name that an owner of events could have.
    #[error(
        "`.service({0:?})`: a service has lower-case letters, digits, `_` and `-`, beginning with a letter, as `policy`"
    )]
    Service(String),
    /// Two settings of which one says the opposite of the other.
    #[error("`.{0}` and `.{1}` contradict each other: the engine's own connections go one way")]
    Contradiction(&'static str, &'static str),
    /// Two profiles, of which one would silently lose.
    #[error("`.profile` is said twice and differently: an outbox has one profile, and single settings beside it")]
    Profiles,
    /// An age that would take away what is still needed.
    #[error("`.retention(..)`: {0}")]
    Retention(String),
    /// A module that declares no handler.
    #[error(
        "`.{option}` names the module `{module}`, but no linked subscriber has a name that begins with `{module}.`; linked are: {linked}"
    )]
    UnknownModule {
        /// The option.
        option: &'static str,
        /// The module.
        module: String,
        /// The modules that are linked.
        linked: String,
    },
}

/// Why the tables were not brought up to date. Nothing is left half done.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// The schema's name is no identifier.
    #[error(transparent)]
    Schema(#[from] InvalidSchema),
    /// The database is newer than this binary.
    #[error(
        "the schema `{schema}` is at version {found}, and this binary knows versions up to {known}: nothing was changed; use a newer binary"
    )]
    TooNew {
        /// The schema.
        schema: String,
        /// The version found.
        found: i32,
        /// The newest version known.
        known: i32,
    },
    /// A migration that was applied is not the one that this binary knows.
    #[error(
        "migration {version} of the schema `{schema}` was applied from a text that differs from this binary's: nothing was changed"
    )]
    Changed {
        /// The schema.
        schema: String,
        /// The migration.
        version: i32,
    },
    /// A migration failed, and was undone.
    #[error("migration {version} (`{name}`) failed and was undone")]
    Failed {
        /// The migration.
        version: i32,
        /// Its name.
        name: &'static str,
        /// What the database says.
        source: sqlx::Error,
    },
    /// Somebody held a table, or the turn to migrate, for as long as it was tried for.
    #[error(
        "somebody holds a lock in the schema `{schema}` that a migration needs, at each of {tries} tries: it was not applied; look for long transactions in `pg_stat_activity`, and migrate again"
    )]
    Held {
        /// The schema.
        schema: String,
        /// How often it was tried.
        tries: u32,
        /// What the last try came to.
        source: Box<Self>,
    },
    /// Something is to be done, or may be, and the role of the connection has not got the right to.
    #[error(
        "this role may not bring the tables in the schema `{schema}` up to date: run migrate as the owner of the schema, or, where there is none yet, as a role that may create it"
    )]
    NotAllowed {
        /// The schema.
        schema: String,
        /// What the database says.
        source: sqlx::Error,
    },
    /// The database refused a statement or was not there.
    #[error("the tables were not brought up to date")]
    Database(#[source] sqlx::Error),
}

/// Why the roles were not granted. Nothing was changed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum GrantError {
    /// The schema's name is no identifier.
    #[error(transparent)]
    Schema(#[from] InvalidSchema),
    /// The prefix makes no names of roles.
    #[error(
        "`{0}` cannot begin the names of roles: a lower-case letter or `_`, then letters, digits and `_`, at most 50 in all"
    )]
    Prefix(String),
    /// The database refused, and says what to do.
    #[error("the roles were not granted")]
    Database(#[source] sqlx::Error),
}

/// Why workers do not run.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// `run` was called twice on one outbox.
    #[error(
        "this outbox is running already: one process is one worker; raise `.concurrency(..)` to run more jobs at once"
    )]
    AlreadyRunning,
    /// No handler is linked, or none of the modules asked for.
    #[error("nothing to run: no subscriber is linked into this binary; name its crates in `outbox::modules![..]`")]
    NoHandlers,
    /// The operating system gave no thread for renewing the lease.
    #[error("the thread that renews the lease could not be started")]
    Thread(#[source] std::io::Error),
}

/// Why an operator's command was not carried out.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum OperationError {
    /// No failed job has this id.
    #[error("job {0} cannot be redriven: no failed job has this id; `outbox.failed(..)` lists those that have")]
    NotFailed(JobId),
    /// It is parked, and is moved by the answer of its effect's owner alone.
    #[error(
        "job {0} cannot be redriven: it is parked, because nobody knows whether it had its effect; give the answer of its effect's owner by \
         `outbox.parked().resolve({0}, ..)`"
    )]
    Parked(JobId),
    /// It failed, and so it stays, because its event has a live job of the same handler.
    #[error(
        "job {0} stays failed: another job of its event and handler is live, and two would have the effect twice; when that one has ended, or \
         was ended by `outbox.cancel(..)`, ask again"
    )]
    AnotherIsLive(JobId),
    /// No parked job has this id.
    #[error(
        "job {0} is not parked: only one that is failed, reason unknown, waits for an answer; `outbox.parked().list(..)` lists them"
    )]
    NotParked(JobId),
    /// No live job has this id.
    #[error("job {0} is neither pending nor running")]
    NotLive(JobId),
    /// The catalogue does not know this handler.
    #[error(
        "the catalogue knows no subscriber `{0}`: write its stored name, as `outbox.registry()` prints it; the catalogue knows it once a process \
         that links it has built its `Outbox`"
    )]
    UnknownSubscriber(String),
    /// The subscriber is retired, so that nobody may run what it would get.
    #[error("`{0}` is retired: activate it first, by `outbox.activate(\"{0}\")`")]
    Retired(String),
    /// It has no jobs of events.
    #[error("`{handler}` has no jobs of events that could be replayed: the catalogue says that it is of kind `{kind}`")]
    NotReplayable {
        /// Its stored name.
        handler: String,
        /// What it is.
        kind: String,
    },
    /// This is neither the name of an event nor a pattern.
    #[error("`{0}` names no event: write a name (`order.placed`), a pattern (`order.*`), or `*` for every event")]
    NoEvent(String),
    /// No binary has declared this schedule.
    #[error("no schedule is named `{0}`: a worker that links it declares it when it starts")]
    UnknownSchedule(String),
    /// A run of this schedule has not ended, and two at once are not allowed.
    #[error("a run of `{0}` has not ended; to have two at once, say `overlap = allow` at its `#[scheduled(..)]`")]
    StillRunning(String),
    /// A later release has declared this schedule in a way that this one does not know.
    #[error("the schedule `{name}` cannot be read by this release")]
    UnreadableSchedule {
        /// Its name.
        name: String,
        /// Why.
        source: outbox_core::timetable::NoTimetable,
    },
    /// The database refused a statement or was not there.
    #[error("the command was not carried out")]
    Database(#[source] sqlx::Error),
}

/// What is said about tables and roles, and holds nothing of an application.
macro_rules! from_the_database {
    ($($error:ident),*) => {
        $(impl From<sqlx::Error> for $error {
            fn from(error: sqlx::Error) -> Self {
                Self::Database(without_line(error))
            }
        })*
    };
}

from_the_database!(BuildError, MigrateError, GrantError);

impl From<sqlx::Error> for OperationError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(discreet(error))
    }
}

/// `Debug` as a person reads it: the message and its causes. What `main` returns and what `unwrap` meets is printed so.
macro_rules! debug_is_for_people {
    ($($error:ty),* $(,)?) => {
        $(impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&$crate::error::told(self))
            }
        })*
    };
}
pub(crate) use debug_is_for_people;

debug_is_for_people!(PublishError, BuildError, MigrateError, GrantError, RunError, OperationError);

/// An error and its causes in one text, each said once.
pub(crate) fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let links = std::iter::successors(Some(error), |link| link.source());
    outbox_core::error_chain::join(links.map(ToString::to_string))
}
