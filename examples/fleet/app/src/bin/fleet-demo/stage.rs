//! The services, their databases and the broker, and how they are started, killed and asked.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use outbox_relay::contract::free_port;
use platform::Release;
use serde_json::Value;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use sqlx::types::chrono::{DateTime, Utc};
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::arguments::Arguments;
use crate::broker::BrokerServer;
use crate::child::{self, Child};
use crate::kill::kill_while_it_holds_jobs;
use crate::narrator::Narrator;

/// How often a state is asked for that is waited on.
const EVERY: Duration = Duration::from_millis(50);

/// One database, as the play looks into it.
#[derive(Debug, Clone)]
pub(crate) struct Side {
    pub(crate) url: String,
    pub(crate) pool: PgPool,
}

pub(crate) struct Stage {
    pub(crate) arguments: Arguments,
    pub(crate) narrator: Arc<Narrator>,
    pub(crate) policy: Side,
    pub(crate) billing: Side,
    // The services before the broker and the folder: dropped in this order.
    policy_service: Option<Child>,
    billing_service: Option<Child>,
    pub(crate) broker: BrokerServer,
    listen: SocketAddr,
    folder: TempDir,
}

impl Side {
    async fn open(url: String) -> anyhow::Result<Self> {
        let pool = PgPoolOptions::new().max_connections(2).connect(&url).await?;
        Ok(Self { url, pool })
    }
}

fn any_address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, free_port()).into()
}

impl Stage {
    pub(crate) async fn set(
        arguments: Arguments,
        narrator: Arc<Narrator>,
        policy: String,
        billing: String,
    ) -> anyhow::Result<Self> {
        let kind = arguments.broker;
        narrator.tell(&format!("starting a {} of this run's own; {}", kind.name(), kind.takes()));
        let broker = narrator.while_waiting("until the broker listens", BrokerServer::start(kind)).await;
        Ok(Self {
            policy: Side::open(policy).await?,
            billing: Side::open(billing).await?,
            policy_service: None,
            billing_service: None,
            broker,
            listen: any_address(),
            folder: TempDir::new()?,
            arguments,
            narrator,
        })
    }

    /// Where the policy service is, whichever process that is.
    pub(crate) fn address(&self) -> String {
        format!("http://{}", self.listen)
    }

    /// Where the services write their spans.
    pub(crate) fn spans(&self) -> [PathBuf; 2] {
        ["policy", "billing"].map(|service| self.folder.path().join(service))
    }

    pub(crate) async fn start_policy(&mut self, release: Release) -> anyhow::Result<()> {
        let service = self.start("policy", release, Some(self.listen))?;
        self.policy_service = Some(service);
        self.answers(self.listen).await
    }

    pub(crate) async fn start_billing(&mut self, release: Release) -> anyhow::Result<()> {
        let before = sqlx::query_scalar("select clock_timestamp()").fetch_one(&self.billing.pool).await?;
        let service = self.start("billing", release, None)?;
        self.billing_service = Some(service);
        self.until("billing works", async |stage| has_begun(&stage.billing, before).await).await
    }

    /// Another process of the policy service beside the one that is there, and where it is.
    pub(crate) async fn start_canary(&self, release: Release) -> anyhow::Result<(Child, String)> {
        let listen = any_address();
        let canary = self.start("policy", release, Some(listen))?;
        self.answers(listen).await?;
        Ok((canary, format!("http://{listen}")))
    }

    fn start(&self, service: &str, release: Release, listen: Option<SocketAddr>) -> anyhow::Result<Child> {
        let spans = self.folder.path().join(service).display().to_string();
        let mut arguments = vec!["serve".to_owned(), "--until-input-ends".to_owned()];
        arguments.extend(["--release".to_owned(), release.to_string(), "--spans".to_owned(), spans]);
        arguments.extend(listen.into_iter().flat_map(|listen| ["--listen".to_owned(), listen.to_string()]));
        let side = if service == "policy" { &self.policy } else { &self.billing };
        let environment = [("DATABASE_URL", side.url.clone()), ("BROKER_URL", self.broker.url())];
        Child::start(&format!("fleet-{service}"), service, &arguments, &environment)
    }

    pub(crate) async fn stop_policy(&mut self) -> anyhow::Result<()> {
        stop(self.policy_service.take()).await
    }

    pub(crate) async fn stop_billing(&mut self) -> anyhow::Result<()> {
        stop(self.billing_service.take()).await
    }

    /// Kills the policy service while it holds jobs; answers how many.
    pub(crate) async fn kill_policy(&mut self) -> anyhow::Result<i64> {
        kill(self.policy_service.take(), &self.policy).await
    }

    /// Kills the billing service while it holds jobs; answers how many.
    pub(crate) async fn kill_billing(&mut self) -> anyhow::Result<i64> {
        kill(self.billing_service.take(), &self.billing).await
    }

    /// What the operator of the policy service asks of it.
    pub(crate) async fn ask_policy(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        self.ask("fleet-policy", arguments, &self.policy).await
    }

    /// What the operator of the billing service asks of it.
    pub(crate) async fn ask_billing(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        self.ask("fleet-billing", arguments, &self.billing).await
    }

    async fn ask(&self, program: &str, arguments: &[&str], side: &Side) -> anyhow::Result<Value> {
        let arguments: Vec<_> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        child::command(program, &arguments, &[("DATABASE_URL", side.url.clone())]).await
    }

    /// Lets the fleet go on for a while.
    pub(crate) async fn go_on(&mut self) -> anyhow::Result<()> {
        tokio::time::sleep(self.arguments.stretch()).await;
        self.all_run()
    }

    /// Waits until something is so.
    pub(crate) async fn until(
        &mut self,
        what: &str,
        is_so: impl AsyncFn(&Self) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let deadline = Instant::now() + self.arguments.deadline();
        while !is_so(self).await? {
            self.all_run()?;
            if Instant::now() > deadline {
                bail!(
                    "waited {:?} in vain until {what}; `--deadline SECONDS` gives it longer",
                    self.arguments.deadline()
                );
            }
            tokio::time::sleep(EVERY).await;
        }
        Ok(())
    }

    async fn answers(&self, address: SocketAddr) -> anyhow::Result<()> {
        let deadline = Instant::now() + self.arguments.deadline();
        while TcpStream::connect(address).await.is_err() {
            if Instant::now() > deadline {
                bail!("the policy service does not answer at {address}");
            }
            tokio::time::sleep(EVERY).await;
        }
        Ok(())
    }

    fn all_run(&mut self) -> anyhow::Result<()> {
        for service in [&mut self.policy_service, &mut self.billing_service].into_iter().flatten() {
            if let Some(status) = service.ended()? {
                bail!("{} has ended by itself: {status}", service.name());
            }
        }
        Ok(())
    }
}

async fn stop(service: Option<Child>) -> anyhow::Result<()> {
    match service {
        Some(service) => service.stop().await,
        None => Ok(()),
    }
}

async fn kill(service: Option<Child>, side: &Side) -> anyhow::Result<i64> {
    let mut service = service.context("there is no service to kill")?;
    kill_while_it_holds_jobs(&mut service, &side.pool).await
}

/// Whether a worker has announced itself in this database since then.
async fn has_begun(side: &Side, since: DateTime<Utc>) -> anyhow::Result<bool> {
    let migrated: bool =
        sqlx::query_scalar("select to_regclass('system.worker') is not null").fetch_one(&side.pool).await?;
    if !migrated {
        return Ok(false);
    }
    let begun = sqlx::query_scalar("select exists (select from system.worker where started_at > $1)");
    Ok(begun.bind(since).fetch_one(&side.pool).await?)
}
