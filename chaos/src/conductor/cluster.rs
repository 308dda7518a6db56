//! The database server of a run, and its replica.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use outbox_testing::server::{Options, Replication, Server};

use crate::plan::Stop;

/// The server that everybody uses, with the one that is to take over. Stops and starts come one at a time.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    servers: Arc<Mutex<Servers>>,
    /// Apart, so that nobody who wants to know it waits for a server to start.
    url: Arc<Mutex<String>>,
}

#[derive(Debug)]
struct Servers {
    primary: Server,
    replica: Option<Server>,
}

impl Cluster {
    /// A durable server: what it has answered survives its crash.
    pub(super) async fn start(synchronous: Option<bool>) -> anyhow::Result<Self> {
        let servers = tokio::task::spawn_blocking(move || -> anyhow::Result<Servers> {
            let mut primary = Server::start(&options())?;
            let replication = match synchronous {
                None => return Ok(Servers { primary, replica: None }),
                Some(true) => Replication::Synchronous,
                Some(false) => Replication::Asynchronous,
            };
            let replica = Some(primary.replica(replication)?);
            Ok(Servers { primary, replica })
        });
        let servers = servers.await?.context("the database server")?;
        let url = Arc::new(Mutex::new(servers.primary.url().to_owned()));
        Ok(Self { servers: Arc::new(Mutex::new(servers)), url })
    }

    /// Where everybody connects, at the moment.
    pub(super) fn url(&self) -> String {
        self.url.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stops it, and starts it again at once.
    pub(super) async fn stop(&self, how: Stop) -> anyhow::Result<()> {
        let cluster = self.clone();
        tokio::task::spawn_blocking(move || {
            let mut servers = cluster.servers();
            match how {
                Stop::Fast => {}
                Stop::Immediate => servers.primary.immediate()?,
                Stop::Kill => servers.primary.kill()?,
            }
            servers.primary.restart()
        })
        .await?
        .context("the server does not start again")
    }

    /// Kills the server, and makes its replica the one that everybody uses. `moved` is told the new URL before anybody else.
    pub(super) async fn fail_over(&self, moved: impl FnOnce(&str) + Send + 'static) -> anyhow::Result<()> {
        let cluster = self.clone();
        tokio::task::spawn_blocking(move || -> anyhow::Result<()> {
            let mut servers = cluster.servers();
            let mut replica = servers.replica.take().context("there is no replica")?;
            servers.primary.kill()?;
            replica.promote()?;
            moved(replica.url());
            replica.url().clone_into(&mut cluster.url.lock().unwrap_or_else(PoisonError::into_inner));
            servers.primary = replica;
            Ok(())
        })
        .await?
    }

    /// Keeps the server's log, which goes with it otherwise.
    pub(super) fn keep_log(&self, folder: &Path) {
        let log = self.servers().primary.log_file();
        if let Some(Err(error)) = log.map(|log| std::fs::copy(log, folder.join("server.log"))) {
            tracing::warn!(%error, "the server's log could not be kept");
        }
    }

    fn servers(&self) -> MutexGuard<'_, Servers> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn options() -> Options {
    let settings = [
        ("max_connections", "300"),
        ("shared_buffers", "128MB"),
        ("max_wal_size", "2GB"),
        // A replica that lost its primary looks for it again soon.
        ("wal_retrieve_retry_interval", "300ms"),
        // As a server in production should have them: a client that has vanished holds nothing for long. It is longer than a
        // process stands still, and than the network is silent; sessions that hold something on purpose set their own.
        ("idle_in_transaction_session_timeout", "10s"),
        ("tcp_keepalives_idle", "5"),
        ("tcp_keepalives_interval", "2"),
        ("tcp_keepalives_count", "3"),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    Options { durable: true, settings, ..Options::default() }
}
