//! The database server of a run, and its replica.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context as _;
use outbox_testing::server::{Options, Replication, Server};

use crate::plan::Stop;

/// The server that everybody uses, with the one that is to take over. Stops and starts come one at a time.
#[derive(Clone, Debug)]
pub(super) struct Cluster(Arc<Mutex<Servers>>);

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
        Ok(Self(Arc::new(Mutex::new(servers.await?.context("the database server")?))))
    }

    /// Where everybody connects, at the moment.
    pub(super) fn url(&self) -> String {
        self.servers().primary.url().to_owned()
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn options() -> Options {
    let settings = [
        ("max_connections", "300"),
        ("shared_buffers", "128MB"),
        ("max_wal_size", "2GB"),
        // A replica that lost its primary looks for it again soon.
        ("wal_retrieve_retry_interval", "300ms"),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    Options { durable: true, settings, ..Options::default() }
}
