//! A durable PostgreSQL, with a database for each service, and what they hold in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use outbox_testing::server::{Options, Server};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, PgConnection, PgPool};
use uuid::Uuid;

use crate::check::{Job, Seen};
use crate::load::{prepare_receiver, prepare_sender};
use crate::plan::Service;

/// Both of them.
pub(super) struct Databases {
    server: Arc<Mutex<Server>>,
    sender: PgPool,
    receiver: PgPool,
}

/// How far it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Progress {
    sent: i64,
    to_relay: i64,
    received: i64,
    to_handle: i64,
}

impl Progress {
    pub(super) fn is_over(&self) -> bool {
        self.to_relay == 0 && self.to_handle == 0 && self.sent == self.received
    }
}

const SENDER: &str = "sender";
const RECEIVER: &str = "receiver";

impl Databases {
    pub(super) async fn start() -> anyhow::Result<Self> {
        let server = tokio::task::spawn_blocking(|| Server::start(&options())).await?.context("PostgreSQL")?;
        let mut admin = PgConnection::connect(server.url()).await?;
        for name in [SENDER, RECEIVER] {
            admin.execute(AssertSqlSafe(format!("create database {name}"))).await?;
        }
        let pool = |name| -> anyhow::Result<PgPool> {
            let options: PgConnectOptions = server.url().parse()?;
            let pool = PgPoolOptions::new().max_connections(2).acquire_timeout(Duration::from_secs(5));
            Ok(pool.connect_lazy_with(options.database(name).application_name("conductor")))
        };
        let (sender, receiver) = (pool(SENDER)?, pool(RECEIVER)?);
        prepare_sender(&sender).await?;
        prepare_receiver(&receiver).await?;
        Ok(Self { server: Arc::new(Mutex::new(server)), sender, receiver })
    }

    /// Of the database of a service, past every proxy.
    pub(super) fn url(&self, service: Service) -> anyhow::Result<String> {
        let url = self.server.lock().unwrap_or_else(PoisonError::into_inner).url().to_owned();
        let options: PgConnectOptions = url.parse()?;
        let name = match service {
            Service::Sender => SENDER,
            Service::Receiver => RECEIVER,
        };
        Ok(options.database(name).to_url_lossy().to_string())
    }

    /// `SIGKILL`, and started again at once.
    pub(super) async fn dies(&self) -> anyhow::Result<()> {
        let server = Arc::clone(&self.server);
        tokio::task::spawn_blocking(move || {
            let mut server = server.lock().unwrap_or_else(PoisonError::into_inner);
            server.kill()?;
            server.restart()
        })
        .await?
        .context("the server does not start again")
    }

    pub(super) async fn progress(&self) -> anyhow::Result<Progress> {
        let (sent, to_relay) = counts(&self.sender).await?;
        let (received, to_handle) = counts(&self.receiver).await?;
        Ok(Progress { sent, to_relay, received, to_handle })
    }

    /// Everything that the rules look at.
    pub(super) async fn seen(&self) -> anyhow::Result<Seen> {
        let parcels: Vec<i64> = sqlx::query_scalar("select number from parcel").fetch_all(&self.sender).await?;
        let effects = sqlx::query_scalar("select number from effect").fetch_all(&self.receiver).await?;
        let quarantined: i64 =
            sqlx::query_scalar("select count(*) from system.quarantine").fetch_one(&self.receiver).await?;
        Ok(Seen {
            parcels: BTreeSet::from_iter(parcels),
            sent: events(&self.sender).await?,
            relayed: jobs(&self.sender, "sending.relay").await?,
            received: events(&self.receiver).await?,
            effects,
            handled: jobs(&self.receiver, "receiving.record").await?,
            quarantined: u64::try_from(quarantined)?,
        })
    }
}

/// Events, and jobs that have not ended.
async fn counts(pool: &PgPool) -> anyhow::Result<(i64, i64)> {
    let text = "select (select count(*) from system.event), (select count(*) from system.job_live)";
    Ok(sqlx::query_as(text).fetch_one(pool).await?)
}

async fn events(pool: &PgPool) -> anyhow::Result<BTreeMap<Uuid, i64>> {
    let text = "select id, (payload->>'number')::bigint from system.event";
    let events: Vec<(Uuid, i64)> = sqlx::query_as(text).fetch_all(pool).await?;
    Ok(events.into_iter().collect())
}

async fn jobs(pool: &PgPool, handler: &str) -> anyhow::Result<Vec<Job>> {
    let text = "select event_id, status, attempts, crashes from system.job where job_type = $1";
    let jobs: Vec<(Uuid, String, i32, i32)> = sqlx::query_as(text).bind(handler).fetch_all(pool).await?;
    let job = |(event, status, attempts, crashes)| Job { event, status, attempts, crashes };
    Ok(jobs.into_iter().map(job).collect())
}

fn options() -> Options {
    let settings = [
        ("max_connections", "200"),
        ("shared_buffers", "128MB"),
        // A client that has vanished holds nothing for long.
        ("idle_in_transaction_session_timeout", "10s"),
        ("tcp_keepalives_idle", "5"),
        ("tcp_keepalives_interval", "2"),
        ("tcp_keepalives_count", "3"),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    Options { durable: true, settings, ..Options::default() }
}
