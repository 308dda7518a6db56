//! A PgBouncer in transaction mode in front of a server, gone with whoever started it.

mod find;
mod obtain;
mod settings;

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use url::Url;

use super::account::Account;
use super::bounded::{self, GLANCE};
use super::cache::Cache;
use super::error::ServerError;
use super::scratch::Scratch;
use super::supervise::Supervised;
use super::{Server, launch};
use find::Program;

const READY_LIMIT: Duration = Duration::from_secs(20);

/// A PgBouncer in transaction mode in front of a [`Server`], on a free port of the loopback address: for tests of what your
/// application does where a session is lent to it for one transaction at a time.
///
/// ```no_run
/// use outbox_testing::server::{Pooler, Server};
///
/// let server = Server::obtain()?;
/// let pooler = Pooler::start(&server)?;
/// println!("{} by way of {}", server.url(), pooler.url());
/// # Ok::<(), outbox_testing::server::ServerError>(())
/// ```
///
/// It serves every database of the server to the server's user and to every other role, without asking for a password. Named prepared statements work
/// through it (`max_prepared_statements`), which needs PgBouncer 1.21.
///
/// # Which PgBouncer
///
/// The first of these that is 1.21 or newer: the program that `OUTBOX_PGBOUNCER` names (if it is set and of no use, that is an
/// error); `pgbouncer` in the folders of `PATH` and in those for system programs; the cache; what can be fetched into the cache:
/// on Debian, its newest package with the libraries that it needs, unpacked and not installed, so that neither root nor the
/// system's release matters.
#[derive(Debug)]
pub struct Pooler {
    url: String,
    version: String,
    // The order matters: it ends before its folder goes.
    running: Supervised,
    _scratch: Scratch,
}

impl Pooler {
    /// Starts a PgBouncer in front of `server`, and returns when it takes connections.
    ///
    /// This blocks, for a few milliseconds as a rule and for a minute when a PgBouncer must be fetched first; in async code
    /// call it from a blocking task.
    ///
    /// # Errors
    ///
    /// [`ServerError::NoPooler`] when none is found and none can be fetched, with what to do about it; else what prevented the start.
    pub fn start(server: &Server) -> Result<Self, ServerError> {
        Self::before(server.url())
    }

    /// As [`Pooler::start`], in front of a server by its URL.
    ///
    /// # Errors
    ///
    /// As [`Pooler::start`], and when the URL is none.
    pub fn before(url: &str) -> Result<Self, ServerError> {
        let behind = Url::parse(url).map_err(|error| {
            ServerError::io("read the database's URL")(std::io::Error::other(format!("{error}; PgBouncer needs one")))
        })?;
        let account = Account::for_server()?;
        let program = find::program(&Cache::from_env()?, account)?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            match launch(&program, account, &behind) {
                // Somebody took the port before it did.
                Err(ServerError::PoolerEnded { log }) if log.contains("in use") && attempts < 5 => {}
                outcome => return outcome,
            }
        }
    }

    /// Where to connect, as the URL of the server with another address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The version of PgBouncer, for instance `1.24.1`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // At once: what it asks for otherwise is that its clients go first. What is left undone here, the next drop does.
        let _ = self.running.end(Signal::QUIT);
    }
}

fn launch(program: &Program, account: Account, behind: &Url) -> Result<Pooler, ServerError> {
    let scratch = launch::scratch(account)?;
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map_err(ServerError::io("find a free port"))?
        .port();
    let file = settings::write(scratch.path(), account, behind, port)
        .map_err(ServerError::io("write the settings of PgBouncer"))?;
    let mut command = Command::new(&program.path);
    command.arg(&file);
    let mut running = Supervised::spawn(account, scratch.path(), &command)?;
    until_ready(&mut running, &scratch.path().join("log"))?;
    let url = settings::by_way_of(behind, port);
    Ok(Pooler { url, version: program.version.clone(), running, _scratch: scratch })
}

/// It says so itself, when it listens.
fn until_ready(running: &mut Supervised, log: &Path) -> Result<(), ServerError> {
    let deadline = Instant::now() + READY_LIMIT;
    let read = || std::fs::read_to_string(log).unwrap_or_default();
    while !read().contains("process up") {
        if running.has_ended() || Instant::now() >= deadline {
            return Err(ServerError::PoolerEnded { log: bounded::tail(&read(), 15) });
        }
        std::thread::sleep(GLANCE);
    }
    Ok(())
}

/// Where `name` is in these folders.
fn within(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file())
}
