//! What can go wrong between "I need a PostgreSQL" and "it answers", each with what to do about it.

use std::path::PathBuf;

/// Why there is no throwaway PostgreSQL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// No usable PostgreSQL was found on this machine and none could be fetched.
    #[error("no usable PostgreSQL: {advice}{}", listed(.tried))]
    NotFound {
        /// What was looked at or tried, and why it did not do, in that order.
        tried: Vec<String>,
        /// The one line that helps on this system.
        advice: String,
    },
    /// The folder that was asked for by name holds no PostgreSQL that can be run.
    #[error(
        "no usable PostgreSQL in `{}` ({reason}); `OUTBOX_PG_BIN` must name the folder that holds `initdb` and `postgres`",
        .folder.display()
    )]
    Unusable {
        /// The folder as given.
        folder: PathBuf,
        /// What was wrong with it.
        reason: String,
    },
    /// The version that was asked for is none that the engine runs on.
    #[error(
        "`{said}` is no major version of PostgreSQL to test on; say 14 or above, for instance `OUTBOX_PG_VERSION=16`"
    )]
    Version {
        /// The version as given.
        said: String,
    },
    /// PostgreSQL refuses to run as root, and the system has no account to run it as.
    #[error(
        "PostgreSQL does not run as root, and neither `postgres` nor `nobody` is in /etc/passwd; create one, for instance with `useradd --system postgres`, or give `DATABASE_URL`"
    )]
    NoAccount,
    /// `initdb` failed.
    #[error("`initdb` failed: {output}{}", initdb_hint(.output))]
    Initdb {
        /// What it printed.
        output: String,
    },
    /// The server ended before it was ready, or while it should have been running.
    #[error("PostgreSQL ended before it was ready; the end of its log: {log}")]
    Ended {
        /// The last lines of the server's log.
        log: String,
    },
    /// The server did not become ready in time.
    #[error("PostgreSQL was not ready after {seconds} s; the end of its log: {log}")]
    NotReady {
        /// How long was waited.
        seconds: u64,
        /// The last lines of the server's log.
        log: String,
    },
    /// No usable PgBouncer was found on this machine and none could be fetched.
    #[error(
        "no usable PgBouncer: install version 1.21 or newer (Debian 13, Alpine, Homebrew and others have it as `pgbouncer`), or name \
         its program in `OUTBOX_PGBOUNCER`{}", listed(.tried)
    )]
    NoPooler {
        /// What was looked at or tried, and why it did not do, in that order.
        tried: Vec<String>,
    },
    /// PgBouncer ended before it was ready, or was not ready in time.
    #[error("PgBouncer did not start; the end of its log: {log}")]
    PoolerEnded {
        /// The last lines of its log.
        log: String,
    },
    /// A server that is no replica, or does not run, was to become the one that writes.
    #[error("only a running replica can be promoted; `Server::replica` makes one")]
    NoReplica,
    /// A replica did not become the one that writes in time.
    #[error("the replica was not promoted after {seconds} s; see its log `{}`", .log.display())]
    NotPromoted {
        /// How long was waited.
        seconds: u64,
        /// Its log file.
        log: PathBuf,
    },
    /// The database was given by URL, so it is not ours to stop, kill or restart.
    #[error("this PostgreSQL was given by URL and is not ours to stop; use `Server::start` for a test that needs to")]
    NotOurs,
    /// A file or process operation failed.
    #[error("could not {doing}: {source}")]
    Io {
        /// The operation, as the end of a sentence that starts with "could not".
        doing: String,
        /// The system's answer.
        source: std::io::Error,
    },
}

impl ServerError {
    /// For `map_err`: names the operation that the system refused.
    pub(super) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }
}

fn listed(tried: &[String]) -> String {
    tried.iter().flat_map(|line| ["\n  - ", line]).collect()
}

/// Containers with an arbitrary user id meet this; PostgreSQL's own words do not say what to do.
fn initdb_hint(output: &str) -> &'static str {
    if output.contains("could not look up effective user ID") {
        "; this user id has no line in /etc/passwd, which PostgreSQL needs: add one or give `DATABASE_URL`"
    } else {
        ""
    }
}
