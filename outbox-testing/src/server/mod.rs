//! A throwaway PostgreSQL: found on this machine or fetched, started on a free port, gone with whoever started it.
//!
//! ```no_run
//! use outbox_testing::server::Server;
//!
//! let server = Server::obtain()?;
//! println!("{}", server.url());
//! # Ok::<(), outbox_testing::server::ServerError>(())
//! ```
//!
//! # Which PostgreSQL
//!
//! [`Server::obtain`] uses the database of `OUTBOX_TEST_DATABASE_URL`, `OUTBOX_DATABASE_URL` or `DATABASE_URL` if one
//! is set; then nothing is started. Otherwise it starts a server from the first of these that holds a PostgreSQL 14 or
//! newer:
//!
//! 1. `OUTBOX_PG_BIN`, a folder with `initdb` and `postgres`; if it is set and of no use, that is an error;
//! 2. the folders of `PATH`, then what `pg_config --bindir` says;
//! 3. the folders of the distributions, newest version first, Homebrew's, and Postgres.app's;
//! 4. what was fetched earlier, in the cache: `OUTBOX_CACHE_DIR`, else `/var/cache/outbox` as root, else
//!    `~/.cache/outbox`;
//! 5. what can be fetched into the cache: with npm, else with pip, else, as root on Debian, with apt-get.
//!
//! `OUTBOX_PG_VERSION=16`, or [`Options::major`], asks for one major version; then the others are passed over. npm has every
//! version since 14.
//!
//! `OUTBOX_PG_HIDE=1` skips 1 to 3. It is for tests only: a machine that has PostgreSQL acts like one that has not.
//!
//! # Failover
//!
//! [`Server::replica`] makes a second server that follows the first, and [`Server::promote`] makes it the one that writes:
//!
//! ```no_run
//! use outbox_testing::server::{Options, Replication, Server};
//!
//! let mut primary = Server::start(&Options::default())?;
//! let mut replica = primary.replica(Replication::Synchronous)?;
//! // write to `primary.url()`, then:
//! primary.kill()?;
//! replica.promote()?; // what was answered as committed is there, at `replica.url()`
//! # Ok::<(), outbox_testing::server::ServerError>(())
//! ```
//!
//! # As root
//!
//! PostgreSQL refuses to run as root, so there its processes run as `postgres`, else as `nobody`.
//!
//! # What it leaves behind
//!
//! Nothing but the cache. The server stops when the [`Server`] is dropped, and also when the process that started it
//! ends in any other way, `SIGKILL` included. While it runs, everybody on this machine can connect to it.

mod account;
mod binaries;
mod bounded;
mod cache;
mod error;
mod find;
mod launch;
mod leftover;
mod obtain;
mod pooler;
mod ready;
mod replica;
mod scratch;
mod supervise;
mod template;

use std::path::{Path, PathBuf};

use rustix::process::Signal;

use account::Account;
use binaries::{Binaries, Wanted};
use cache::Cache;
pub use error::ServerError;
use find::Search;
use launch::Cluster;
pub use pooler::Pooler;
pub use replica::Replication;
use supervise::Supervised;

/// The environment variables that give a database by URL, the first one that is set wins.
pub const URL_VARIABLES: [&str; 3] = ["OUTBOX_TEST_DATABASE_URL", "OUTBOX_DATABASE_URL", "DATABASE_URL"];

/// How a throwaway server is to be. The default is the fastest one.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Keep what was committed when the server is killed, which costs time at each commit. Without it `fsync`,
    /// `synchronous_commit` and `full_page_writes` are off.
    pub durable: bool,
    /// Settings of `postgresql.conf`, for instance `("max_connections", "20")`. They win over our own.
    pub settings: Vec<(String, String)>,
    /// The folder that holds `initdb` and `postgres`, instead of a search: for a test against one installation.
    pub binaries: Option<PathBuf>,
    /// The major version, 14 or above. Default: what `OUTBOX_PG_VERSION` says, else whichever is found first.
    pub major: Option<u32>,
}

/// A PostgreSQL to test on: our own, or one that was given by URL.
///
/// Dropping it stops a server of our own and removes its folder.
#[derive(Debug)]
pub struct Server {
    url: String,
    own: Option<Own>,
}

/// The order matters: on drop the server ends before its folder goes.
#[derive(Debug)]
struct Own {
    running: Option<Supervised>,
    cluster: Cluster,
}

impl Server {
    /// The database that the environment gives (see [`URL_VARIABLES`]), else a server of our own.
    ///
    /// # Errors
    ///
    /// As [`Server::start`].
    pub fn obtain() -> Result<Self, ServerError> {
        let given = URL_VARIABLES.iter().find_map(|name| std::env::var(name).ok().filter(|url| !url.is_empty()));
        match given {
            Some(url) => Ok(Self::given(url)),
            None => Self::start(&Options::default()),
        }
    }

    /// A database that somebody else runs. It is carried as it is, without a connection being tried.
    #[must_use]
    pub fn given(url: impl Into<String>) -> Self {
        Self { url: url.into(), own: None }
    }

    /// Starts a server of our own, whatever the environment gives, and returns when it takes connections.
    ///
    /// This blocks, for about half a second as a rule and for minutes when a server must be fetched first; in async
    /// code call it from a blocking task.
    ///
    /// # Errors
    ///
    /// When no PostgreSQL is found and none can be fetched, or when it cannot be started. The message says what was
    /// tried and what to do.
    pub fn start(options: &Options) -> Result<Self, ServerError> {
        let account = Account::for_server()?;
        let cache = Cache::from_env()?;
        let binaries = search(options, &cache, account)?;
        let mut cluster = Cluster::prepare(binaries, account, &cache, options)?;
        let running = Some(cluster.start()?);
        Ok(Self { url: cluster.url(), own: Some(Own { running, cluster }) })
    }

    /// Where to connect, as a superuser if the server is our own.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The version, for instance `18.4`; `None` for a database that was given by URL.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.own.as_ref().map(|own| own.cluster.version())
    }

    /// The postmaster's process id, while a server of our own runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        let running = self.own.as_ref()?.running.as_ref()?;
        u32::try_from(running.pid().as_raw_nonzero().get()).ok()
    }

    /// The data folder of a server of our own.
    #[must_use]
    pub fn data_folder(&self) -> Option<PathBuf> {
        self.own.as_ref().map(|own| own.cluster.data())
    }

    /// The log file of a server of our own.
    #[must_use]
    pub fn log_file(&self) -> Option<PathBuf> {
        self.own.as_ref().map(|own| own.cluster.log())
    }

    /// Shuts the server down in good order and keeps its data for [`Server::restart`]. Connections are cut.
    ///
    /// # Errors
    ///
    /// [`ServerError::NotOurs`] for a database that was given by URL.
    pub fn stop(&mut self) -> Result<(), ServerError> {
        let own = self.own()?;
        match own.running.take() {
            Some(mut running) => running.stop(),
            None => Ok(()),
        }
    }

    /// Kills the postmaster with `SIGKILL`, as a crash does, and returns when it is gone. Its backends end by
    /// themselves when they notice. Committed data is kept for [`Server::restart`] with [`Options::durable`] only.
    ///
    /// # Errors
    ///
    /// [`ServerError::NotOurs`] for a database that was given by URL.
    pub fn kill(&mut self) -> Result<(), ServerError> {
        let own = self.own()?;
        match own.running.take() {
            Some(mut running) => running.end(Signal::KILL).map(drop),
            None => Ok(()),
        }
    }

    /// Ends the server without a checkpoint and without a word to its clients (`SIGQUIT`, an immediate shutdown), and returns
    /// when all of it is gone. What was committed is kept as with [`Server::kill`], and restarting includes recovery.
    ///
    /// # Errors
    ///
    /// [`ServerError::NotOurs`] for a database that was given by URL.
    pub fn immediate(&mut self) -> Result<(), ServerError> {
        let own = self.own()?;
        match own.running.take() {
            Some(mut running) => running.end(Signal::QUIT).map(drop),
            None => Ok(()),
        }
    }

    /// Starts the server again on the same data and the same URL, after shutting it down if it still runs. After
    /// [`Server::kill`] this includes the wait for the last of the old backends, and recovery.
    ///
    /// # Errors
    ///
    /// [`ServerError::NotOurs`] for a database that was given by URL, else what prevented the start.
    pub fn restart(&mut self) -> Result<(), ServerError> {
        self.stop()?;
        let own = self.own()?;
        own.running = Some(own.cluster.start_again()?);
        Ok(())
    }

    fn own(&mut self) -> Result<&mut Own, ServerError> {
        self.own.as_mut().ok_or(ServerError::NotOurs)
    }
}

/// The first installation that runs here, fetched if need be.
fn search(options: &Options, cache: &Cache, account: Account) -> Result<Binaries, ServerError> {
    let wanted = Wanted::of(options)?;
    let search = Search::of_this_machine(cache);
    if let Some(folder) = options.binaries.as_deref().or_else(|| search.named()) {
        return named(folder, wanted, account);
    }
    let mut refused = Vec::new();
    for folder in search.candidates() {
        match Binaries::probe(&folder, wanted, account) {
            Ok(binaries) => return Ok(binaries),
            Err(reason) => refused.push(format!("{}: {reason}", folder.display())),
        }
    }
    obtain::obtain(wanted, cache, account, refused)
}

/// Whoever names a folder wants that one, and not quietly another.
fn named(folder: &Path, wanted: Wanted, account: Account) -> Result<Binaries, ServerError> {
    Binaries::probe(folder, wanted, account)
        .map_err(|reason| ServerError::Unusable { folder: folder.to_owned(), reason })
}
