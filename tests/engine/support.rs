//! What the tests share: an event with handlers of each kind, told what to do by a script.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::{Arc, Mutex};

use outbox::prelude::*;
use outbox::{OutboxBuilder, Registry};
use outbox_testing::{Sandbox, eventually};

/// What handlers did and are to do. Each clone is the same script.
#[derive(Clone, Default)]
pub struct Script {
    notes: Arc<Mutex<Vec<String>>>,
    answers: Arc<Mutex<HashMap<&'static str, Vec<Answer>>>>,
}

/// What a handler does at one execution.
pub enum Answer {
    With(Failure),
}

impl Script {
    /// The next executions of `handler` answer these, in order; then it succeeds.
    pub fn answers(&self, handler: &'static str, answers: impl IntoIterator<Item = Answer>) {
        let mut answers: Vec<_> = answers.into_iter().collect();
        answers.reverse();
        self.answers.lock().unwrap().insert(handler, answers);
    }

    pub fn note(&self, text: impl Into<String>) {
        self.notes.lock().unwrap().push(text.into());
    }

    /// What was noted, in order.
    pub fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap().clone()
    }

    pub fn count(&self, text: &str) -> usize {
        self.notes().iter().filter(|note| note.as_str() == text).count()
    }

    /// Notes the execution and does what comes next.
    #[allow(clippy::unused_async, reason = "handlers await it, as they would their own work")]
    pub async fn play(&self, handler: &'static str) -> HandlerResult {
        self.note(handler);
        let answer = self.answers.lock().unwrap().get_mut(handler).and_then(Vec::pop);
        match answer {
            None => Ok(()),
            Some(Answer::With(failure)) => Err(failure.into()),
        }
    }
}

/// The table that effects are counted in, by its qualified name.
#[derive(Clone)]
pub struct Effects(pub String);

impl Effects {
    pub async fn add(&self, tx: &mut Tx<'_>, handler: &str, order: &str) -> Result<(), sqlx::Error> {
        let text = format!("insert into {} (handler, order_id) values ($1, $2)", self.0);
        sqlx::query(sqlx::AssertSqlSafe(text)).bind(handler).bind(order).execute(&mut **tx).await.map(drop)
    }
}

/// A customer's order was accepted.
#[derive(Debug, Clone, PartialEq)]
#[event("order.placed")]
pub struct OrderPlaced {
    #[subject]
    pub order_id: String,
    pub units: u32,
}

impl OrderPlaced {
    pub fn of(order_id: impl Into<String>) -> Self {
        Self { order_id: order_id.into(), units: 1 }
    }
}

/// Takes the transaction.
#[subscriber(event = "order.placed", name = "inventory.take", max_attempts = 3, backoff = fixed("100ms"))]
async fn take(
    order: OrderPlaced,
    mut tx: Tx<'_>,
    State(effects): State<Effects>,
    State(script): State<Script>,
) -> HandlerResult {
    effects.add(&mut tx, "inventory.take", &order.order_id).await?;
    script.play("inventory.take").await
}

/// Takes the key.
#[subscriber(event = "order.placed", name = "notifications.confirm", max_attempts = 3, backoff = exponential("100ms", max = "10s"), timeout = "5s")]
async fn confirm(order: OrderPlaced, key: IdempotencyKey, State(script): State<Script>) -> HandlerResult {
    script.note(format!("key {key} of {}", order.order_id));
    script.play("notifications.confirm").await
}

/// A test's sandbox with the table of effects, its script, and the names of the handlers that are linked.
pub struct Shop {
    pub sandbox: Sandbox,
    pub script: Script,
}

impl Shop {
    pub async fn new() -> Self {
        Self::on(Sandbox::new().await).await
    }

    /// In a database of its own, which has these settings for every session.
    pub async fn with_default(settings: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::database().await;
        for (name, value) in settings {
            let set = format!("execute format('alter database %I set {name} = {value}', current_database())");
            sandbox.execute(&format!("do $$ begin {set}; end $$")).await;
        }
        // Also for those that are open, a pooler's among them; but not for the one that says so, nor for those that come behind them.
        let others = "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
        let now = sandbox.number("select (extract(epoch from clock_timestamp()) * 1000000)::bigint").await;
        let own = format!(
            "with ended as (select pg_terminate_backend(pid) {others}) select (pg_backend_pid() + 0 * count(*))::bigint from ended"
        );
        let own = sandbox.number(&own).await;
        let left =
            format!("select count(*) {others} and pid <> {own} and backend_start < to_timestamp({now} / 1000000.0)");
        eventually("they have ended", async || (sandbox.number(&left).await == 0).then_some(())).await;
        Self::on(sandbox).await
    }

    async fn on(sandbox: Sandbox) -> Self {
        sandbox.execute("create table :schema.effect (handler text not null, order_id text not null)").await;
        Self { sandbox, script: Script::default() }
    }

    /// An outbox that links these handlers and no others.
    pub fn outbox(&self, handlers: &[&str]) -> OutboxBuilder {
        let registry = Registry::linked().with_subscribers(|one| handlers.contains(&one.name));
        self.bare(registry)
    }

    /// An outbox of another registry.
    pub fn bare(&self, registry: Registry) -> OutboxBuilder {
        self.sandbox.outbox().registry(registry).state(self.script.clone()).state(Effects(self.sandbox.table("effect")))
    }

    pub async fn effects(&self) -> i64 {
        self.sandbox.number("select count(*) from :schema.effect").await
    }
}

/// Whether this test has nothing to show where outboxes go through a transaction pooler; then says so, for `cargo xtask test --matrix`.
pub fn skipped_behind_a_pooler(why: &str) -> bool {
    if Sandbox::is_pooled() {
        let thread = std::thread::current();
        let line = format!("\nskipped {}: {why}\n", thread.name().unwrap_or("a test"));
        // Past the capture of the test's output, and in one piece.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    Sandbox::is_pooled()
}

/// Why what waits for a NOTIFY is skipped there.
pub const NOBODY_LISTENS: &str = "nobody listens behind a transaction pooler";

/// Publishes in a transaction of its own.
pub async fn publish(outbox: &Outbox, order_id: &str) -> outbox::Published {
    let mut tx = outbox.begin().await.unwrap();
    let published = outbox.publish(&mut tx, &OrderPlaced::of(order_id)).await.unwrap();
    tx.commit().await.unwrap();
    published
}
