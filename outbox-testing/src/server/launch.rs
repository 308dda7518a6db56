//! Starts a cluster: its folder, its port, its settings, and the wait until it answers.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use super::Options;
use super::account::Account;
use super::binaries::Binaries;
use super::bounded::{self, GLANCE};
use super::cache::Cache;
use super::error::ServerError;
use super::ready::is_ready;
use super::scratch::Scratch;
use super::supervise::Supervised;
use super::template;

/// Generous: recovery after a crash is part of it, on a machine that compiles at the same time.
const READY_LIMIT: Duration = Duration::from_mins(1);

/// A killed server's backends hold its shared memory until they notice; a new one is refused until then.
const RESTART_LIMIT: Duration = Duration::from_mins(1);

/// One cluster: a data folder and the port that its URL names.
#[derive(Debug)]
pub(super) struct Cluster {
    binaries: Binaries,
    account: Account,
    settings: Vec<(String, String)>,
    port: u16,
    scratch: Scratch,
}

impl Cluster {
    /// Prepares a data folder; nothing runs yet.
    pub(super) fn prepare(
        binaries: Binaries,
        account: Account,
        cache: &Cache,
        options: &Options,
    ) -> Result<Self, ServerError> {
        let scratch = scratch(account)?;
        let cluster = Self { binaries, account, settings: settings(options), port: 0, scratch };
        template::data_folder(&cluster.binaries, account, cache, &cluster.data())?;
        Ok(cluster)
    }

    /// A second cluster with a copy of this one's data, which no server may use meanwhile. Nothing runs yet.
    pub(super) fn copy(&self) -> Result<Self, ServerError> {
        let scratch = scratch(self.account)?;
        let copied = Self {
            binaries: self.binaries.clone(),
            account: self.account,
            settings: self.settings.clone(),
            port: 0,
            scratch,
        };
        template::copy(&self.data(), &copied.data(), self.account)
            .map_err(ServerError::io(format!("copy `{}`", self.data().display())))?;
        Ok(copied)
    }

    /// From the next start on; the last one of a name wins.
    pub(super) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.settings.push((name.to_owned(), value.into()));
    }

    /// Puts an empty file into the data folder: PostgreSQL takes some orders by them, at any moment. So it appears in one step.
    pub(super) fn mark(&self, name: &str) -> Result<(), ServerError> {
        let (place, staging) = (self.data().join(name), self.scratch.path().join(name));
        std::fs::write(&staging, "")
            .and_then(|()| self.account.own(&staging))
            .and_then(|()| std::fs::rename(&staging, &place))
            .map_err(ServerError::io(format!("write `{}`", place.display())))
    }

    /// Where it listens on the loopback address.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The first start, on a free port. Somebody may take the port before the server does, hence the attempts.
    pub(super) fn start(&mut self) -> Result<Supervised, ServerError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            self.port = free_port().map_err(ServerError::io("find a free port"))?;
            match self.launch() {
                Err(ServerError::Ended { log }) if log.contains("could not bind") && attempts < 5 => {}
                outcome => return outcome,
            }
        }
    }

    /// A later start on the same port, so that the URL stays good.
    pub(super) fn start_again(&self) -> Result<Supervised, ServerError> {
        let deadline = Instant::now() + RESTART_LIMIT;
        loop {
            match self.launch() {
                Err(ServerError::Ended { .. }) if Instant::now() < deadline => std::thread::sleep(GLANCE * 10),
                outcome => return outcome,
            }
        }
    }

    /// Of the database that every cluster has.
    pub(super) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// As the server says it.
    pub(super) fn version(&self) -> &str {
        self.binaries.version()
    }

    /// `PGDATA`.
    pub(super) fn data(&self) -> PathBuf {
        self.scratch.path().join("data")
    }

    /// What the server has to say.
    pub(super) fn log(&self) -> PathBuf {
        self.scratch.path().join("log")
    }

    fn launch(&self) -> Result<Supervised, ServerError> {
        let mut server = Supervised::spawn(self.account, self.scratch.path(), &self.command())?;
        let deadline = Instant::now() + READY_LIMIT;
        while !is_ready(&self.data(), server.pid()) {
            if server.has_ended() {
                return Err(ServerError::Ended { log: self.end_of_log() });
            }
            if Instant::now() >= deadline {
                let seconds = READY_LIMIT.as_secs();
                return Err(ServerError::NotReady { seconds, log: self.end_of_log() });
            }
            std::thread::sleep(GLANCE);
        }
        Ok(server)
    }

    fn command(&self) -> Command {
        let mut postgres = Command::new(self.binaries.program("postgres"));
        postgres.arg("-D").arg(self.data());
        postgres.arg("-p").arg(self.port.to_string());
        for (name, value) in &self.settings {
            postgres.arg("-c").arg(format!("{name}={value}"));
        }
        postgres
    }

    fn end_of_log(&self) -> String {
        bounded::tail(&std::fs::read_to_string(self.log()).unwrap_or_default(), 15)
    }
}

pub(super) fn scratch(account: Account) -> Result<Scratch, ServerError> {
    Scratch::within(&temporary(account), "outbox-pg")
        .and_then(|scratch| account.own(scratch.path()).map(|()| scratch))
        .map_err(ServerError::io("make a folder for the server below the temporary one"))
}

/// The last of a name wins, so what the caller wants comes last.
fn settings(options: &Options) -> Vec<(String, String)> {
    let always = [
        ("listen_addresses", "127.0.0.1"),
        // No socket file: its path may be longer than the system allows below a deep temporary folder.
        ("unix_socket_directories", ""),
        ("shared_buffers", "64MB"),
        ("max_connections", "200"),
    ];
    let hasty = [("fsync", "off"), ("synchronous_commit", "off"), ("full_page_writes", "off")];
    let hasty = if options.durable { &hasty[..0] } else { &hasty[..] };
    let ours = always.iter().chain(hasty).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    ours.chain(options.settings.iter().cloned()).collect()
}

/// The temporary folder, or a common one where that is closed to the server's account.
fn temporary(account: Account) -> PathBuf {
    let ours = std::env::temp_dir();
    let common = ["/tmp", "/var/tmp"].map(PathBuf::from);
    let reached = std::iter::once(&ours).chain(&common).find(|folder| account.reaches(folder));
    reached.unwrap_or(&ours).clone()
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
