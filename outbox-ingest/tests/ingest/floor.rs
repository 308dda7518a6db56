//! Events that come from elsewhere, those who receive them here, and an ingest beside the test.

use std::sync::Arc;
use std::time::Duration;

use outbox::prelude::*;
use outbox::{EventId, OutboxBuilder, Registry};
use outbox_ingest::{Ingest, IngestBuilder, Quarantine, Quarantined, Selection};
use outbox_testing::{Jobs, Sandbox, eventually};
use sqlx::AssertSqlSafe;
use sqlx::types::Uuid;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::fake::{Fake, Sent};

/// As it began.
#[event("policy.created")]
pub struct PolicyCreatedV1 {
    #[subject]
    pub number: String,
}

/// A premium is in some currency, and no policy is without a number.
#[event("policy.created", version = 2, upcast_from = PolicyCreatedV1)]
pub struct PolicyCreated {
    #[subject]
    pub number: String,
    pub currency: String,
}

impl TryFrom<PolicyCreatedV1> for PolicyCreated {
    type Error = &'static str;

    fn try_from(old: PolicyCreatedV1) -> Result<Self, Self::Error> {
        if old.number.is_empty() {
            return Err("no policy is without a number");
        }
        Ok(Self { number: old.number, currency: "EUR".to_owned() })
    }
}

/// An event that is declared here, and that nobody receives.
#[event("policy.viewed")]
pub struct PolicyViewed {
    pub number: String,
}

/// An event that must be seen in its transaction.
#[event("claim.filed")]
pub struct ClaimFiled {
    #[subject]
    pub number: String,
}

/// Where handlers write.
#[derive(Clone)]
pub struct Effects(pub String);

impl Effects {
    async fn add(&self, tx: &mut Tx<'_>, what: &str, number: &str) -> Result<(), sqlx::Error> {
        let text = format!("insert into {} (what, number) values ($1, $2)", self.0);
        sqlx::query(AssertSqlSafe(text)).bind(what).bind(number).execute(&mut **tx).await.map(drop)
    }
}

#[subscriber(event = "policy.created", name = "billing.book", max_attempts = 3)]
async fn book(policy: PolicyCreated, mut tx: Tx<'_>, State(effects): State<Effects>) -> HandlerResult {
    Ok(effects.add(&mut tx, "book", &policy.number).await?)
}

#[subscriber(event = "policy.*", name = "billing.note", idempotent = "it has no effect")]
async fn note(_: Envelope) -> HandlerResult {
    Ok(())
}

/// Receives everything, as a relay or a log does.
#[subscriber(event = "*", name = "log.keep", idempotent = "it has no effect")]
async fn keep(_: Envelope) -> HandlerResult {
    Ok(())
}

#[subscriber(event = "claim.filed", name = "audit.keep", in_transaction)]
async fn audit(claim: ClaimFiled, mut tx: Tx<'_>, State(effects): State<Effects>) -> HandlerResult {
    effects.add(&mut tx, "audit", &claim.number).await?;
    if claim.number == "refused" {
        Err("the audit says no")?;
    }
    Ok(())
}

/// The handlers of these names, and every event.
pub fn linking(handlers: &[&str]) -> Registry {
    Registry::linked().with_subscribers(|one| handlers.contains(&one.name))
}

pub struct Floor {
    pub sandbox: Sandbox,
    pub fake: Fake,
}

impl Floor {
    pub async fn new() -> Self {
        let sandbox = Sandbox::new().await;
        sandbox.execute("create table :schema.effect (what text not null, number text not null)").await;
        Self { sandbox, fake: Fake::new() }
    }

    pub fn builder(&self, handlers: &[&str]) -> OutboxBuilder {
        self.sandbox.outbox().registry(linking(handlers)).state(Effects(self.sandbox.table("effect")))
    }

    pub async fn outbox(&self, handlers: &[&str]) -> Outbox {
        self.builder(handlers).build().await.unwrap()
    }

    pub fn ingest(&self) -> Ingest<Fake> {
        self.ingest_with(|builder| builder)
    }

    pub fn ingest_with(&self, settings: impl FnOnce(IngestBuilder<Fake>) -> IngestBuilder<Fake>) -> Ingest<Fake> {
        settings(Ingest::builder(self.fake.clone())).build().unwrap()
    }

    /// Takes these messages, and stops.
    pub async fn take(&self, outbox: &Outbox, messages: &[Sent]) -> Ingest<Fake> {
        let ingest = self.ingest();
        let before = self.fake.acknowledged().len();
        self.fake.send_all(messages);
        let running = Running::start(&ingest, outbox);
        self.fake.until_acknowledged(before + messages.len()).await;
        running.stop().await;
        ingest
    }

    pub async fn jobs(&self) -> Jobs {
        self.sandbox.jobs().await
    }

    pub async fn events(&self) -> i64 {
        self.sandbox.number("select count(*) from :schema.event").await
    }

    pub async fn effects(&self, what: &str, number: &str) -> i64 {
        let text = format!("select count(*) from :schema.effect where what = '{what}' and number = '{number}'");
        self.sandbox.number(&text).await
    }

    pub async fn quarantined(&self, outbox: &Outbox) -> Vec<Quarantined> {
        Quarantine::of(outbox).list(&Selection::all(), 1_000).await.unwrap()
    }

    /// Until somebody waits for a lock in this schema.
    pub async fn until_somebody_waits(&self) {
        let waits = async || (self.locks("not granted").await > 0).then_some(());
        eventually("somebody waits for a lock", waits).await;
    }

    /// How many locks there are on tables of this schema.
    pub async fn locks(&self, which: &str) -> i64 {
        let text = format!(
            "select count(*) from pg_locks l join pg_class c on c.oid = l.relation
             where {which} and c.relnamespace = (select relnamespace from pg_class where oid = ':schema.event'::regclass)"
        );
        self.sandbox.number(&text).await
    }
}

/// An ingest under way.
pub struct Running {
    stop: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Running {
    pub fn start(ingest: &Ingest<Fake>, outbox: &Outbox) -> Self {
        let (ingest, outbox, stop) = (ingest.clone(), outbox.clone(), Arc::new(Notify::new()));
        let told = Arc::clone(&stop);
        let task = tokio::spawn(async move { ingest.run(&outbox, async move { told.notified().await }).await });
        Self { stop, task }
    }

    pub async fn stop(self) {
        self.stop.notify_one();
        tokio::time::timeout(Duration::from_mins(1), self.task).await.expect("it ends").unwrap();
    }

    /// As a process that is killed.
    pub async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

pub fn new_id() -> EventId {
    EventId::from(Uuid::from_u128(ulid()))
}

/// Of now, as a producer makes it.
fn ulid() -> u128 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    now << 80 | Uuid::new_v4().as_u128() >> 48
}

pub fn policy(number: &str) -> Sent {
    Sent::event(&new_id().to_string(), "policy.created.v1", &format!(r#"{{"number":"{number}"}}"#))
        .with("subject", number)
}

pub fn policies(count: usize) -> Vec<Sent> {
    (0..count).map(|n| policy(&format!("p{n}"))).collect()
}
