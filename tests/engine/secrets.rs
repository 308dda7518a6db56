//! Payloads stay out of logs, of stored errors and of error texts, whatever goes wrong.
//!
//! What a handler itself puts into its error or its panic is the handler's own.

use std::error::Error;
use std::time::Duration;

use outbox::prelude::*;
use outbox::{Outbox, PublishError};
use outbox_testing::{Logs, Sandbox};
use serde::{Deserialize, Deserializer};
use sqlx::AssertSqlSafe;
use sqlx::types::Uuid;

use crate::sql::code;

/// Stands in every payload of this file, and nowhere else. No word of it reads as the name of a field.
const MARKER: &str = "s3cret-4711-marker";

/// What the handlers of this file do.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
enum Mode {
    Fine,
    Fail,
    Panic,
    Hang,
    Refused,
    Violated,
}

#[derive(Debug, Clone, PartialEq)]
#[event("secret.told")]
struct Told {
    mode: Mode,
    secret: String,
}

#[derive(Debug, Clone)]
#[job("secret.keep")]
struct Keep {
    mode: Mode,
    secret: String,
}

/// A type whose own reader quotes what it refuses.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
struct Blunt(String);

impl<'de> Deserialize<'de> for Blunt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Err(serde::de::Error::custom(format!("`{text}` is not what this type takes")))
    }
}

/// One that no handler can read.
#[derive(Debug, Clone, PartialEq)]
#[event("secret.mumbled")]
struct Mumbled {
    #[serde(serialize_with = "as_text")]
    number: u32,
    secret: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn as_text<S: serde::Serializer>(_: &u32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(MARKER)
}

#[derive(Debug, Clone, PartialEq)]
#[event("secret.blunt")]
struct Bluntly {
    blunt: Blunt,
}

async fn act(mode: &Mode) -> HandlerResult {
    match mode {
        Mode::Fine | Mode::Refused | Mode::Violated => Ok(()),
        Mode::Fail => Err("the handler failed".into()),
        Mode::Panic => panic!("the handler gave up"),
        Mode::Hang => std::future::pending().await,
    }
}

#[subscriber(
    event = "secret.told",
    name = "vault.plain",
    max_attempts = 1,
    timeout = "200ms",
    idempotent = "it does nothing"
)]
async fn plain(told: Told) -> HandlerResult {
    act(&told.mode).await
}

#[subscriber(event = "secret.told", name = "vault.within", max_attempts = 1, timeout = "200ms")]
async fn within(told: Told, mut tx: Tx<'_>, State(Vault(table)): State<Vault>) -> HandlerResult {
    let text = match told.mode {
        Mode::Refused => format!("select no_such_column from {table}"),
        Mode::Violated => format!("insert into {table} (secret) values ($1), ($1)"),
        _ => format!("insert into {table} (secret) select $1 where false"),
    };
    sqlx::query(AssertSqlSafe(text)).bind(&told.secret).execute(&mut *tx).await?;
    act(&told.mode).await
}

#[subscriber(job = "secret.keep", max_attempts = 1, timeout = "200ms", idempotent = "it does nothing")]
async fn keep(keep: Keep) -> HandlerResult {
    act(&keep.mode).await
}

#[subscriber(event = "secret.mumbled", name = "vault.hear", idempotent = "it does nothing")]
async fn hear(_: Mumbled) -> HandlerResult {
    Ok(())
}

#[subscriber(event = "secret.blunt", name = "vault.listen", idempotent = "it does nothing")]
async fn listen(_: Bluntly) -> HandlerResult {
    Ok(())
}

/// The table of secrets, by its qualified name.
#[derive(Clone)]
struct Vault(String);

struct Secrets {
    sandbox: Sandbox,
    outbox: Outbox,
}

impl Secrets {
    async fn new() -> Self {
        let sandbox = Sandbox::new().await;
        sandbox.execute("create table :schema.vault (secret text primary key)").await;
        let registry =
            outbox::Registry::linked().with_subscribers(|one| one.module() == "vault" || one.name == "secret.keep");
        let state = Vault(sandbox.table("vault"));
        let outbox = sandbox.outbox().registry(registry).state(state).shutdown_budget(Duration::from_millis(300));
        let outbox = outbox.build().await.unwrap();
        Self { sandbox, outbox }
    }

    async fn tell(&self, mode: Mode) {
        let mut tx = self.outbox.begin().await.unwrap();
        let secret = MARKER.to_owned();
        self.outbox.publish(&mut tx, &Told { mode: mode.clone(), secret: secret.clone() }).await.unwrap();
        self.outbox.enqueue(&mut tx, &Keep { mode, secret }).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Every error that stands in the tables.
    async fn stored_errors(&self) -> Vec<String> {
        let text = format!(
            "select last_error from {} where last_error is not null union all select error from {} where error is not null",
            self.sandbox.table("job"),
            self.sandbox.table("attempt")
        );
        sqlx::query_scalar(AssertSqlSafe(text)).fetch_all(self.sandbox.pool()).await.unwrap()
    }
}

/// An error and its causes, each as a person and as a programmer sees it.
fn texts(error: &(dyn Error + 'static)) -> Vec<String> {
    let links = std::iter::successors(Some(error), |link| (*link).source());
    links.flat_map(|link| [link.to_string(), format!("{link:?}"), format!("{link:#?}")]).collect()
}

fn assert_kept(lines: &[String]) {
    let told: Vec<_> = lines.iter().filter(|line| line.contains(MARKER)).collect();
    assert_eq!(told, [""; 0]);
}

/// Handlers that fail, panic, time out, are refused a statement or violate a constraint, of each kind, and payloads that do not
/// decode: neither log, at any level, nor what is stored of the error, nor the list of failed jobs shows the payload.
#[tokio::test]
async fn what_goes_wrong_in_a_handler_shows_no_payload() {
    let it = Secrets::new().await;
    let logs = Logs::everything();
    for mode in [Mode::Fine, Mode::Fail, Mode::Panic, Mode::Hang, Mode::Refused, Mode::Violated] {
        it.tell(mode).await;
    }
    let mut tx = it.outbox.begin().await.unwrap();
    it.outbox.publish(&mut tx, &Mumbled { number: 1, secret: MARKER.into() }).await.unwrap();
    it.outbox.publish(&mut tx, &Bluntly { blunt: Blunt(MARKER.into()) }).await.unwrap();
    tx.commit().await.unwrap();
    it.outbox.drain().await.unwrap();
    let (lines, stored) = (logs.lines(), it.stored_errors().await);
    assert_kept(&lines);
    assert_kept(&stored);
    let failed = it.outbox.failed(100).await.unwrap();
    assert_kept(&[format!("{failed:?}")]);
    let said = |part: &str| stored.iter().filter(|text| text.contains(part)).count();
    assert_eq!(failed.len(), 13, "{failed:#?}");
    assert_eq!((said("the handler failed"), said("gave up"), said("timed out")), (6, 6, 6), "{stored:#?}");
    assert_eq!((said("no_such_column"), said("duplicate key value violates")), (2, 2), "{stored:#?}");
    assert_eq!(said("`number`: invalid type: string, expected u32"), 2, "{stored:#?}");
    assert_eq!(said("`blunt`: its type refuses the value"), 2, "{stored:#?}");
    assert!(lines.len() > 30, "everything was listened to: {lines:#?}");
}

/// Statements of the engine whose refusal quotes the row (`DETAIL: Failing row contains ..`): publish, enqueue, settle, cancel and
/// redrive show no payload, in the log, in what is stored, or in the error that they answer.
#[tokio::test]
async fn a_refused_statement_shows_no_payload() {
    let it = Secrets::new().await;
    let logs = Logs::everything();
    let mut errors = Vec::new();

    // The server does quote it.
    it.sandbox
        .execute("alter table :schema.event add constraint closed check (event_type <> 'secret.told') not valid")
        .await;
    it.sandbox
        .execute("alter table :schema.job_live add constraint closed check (job_type <> 'secret.keep') not valid")
        .await;
    let told = Told { mode: Mode::Fine, secret: MARKER.into() };
    let payload = serde_json::to_value(&told).unwrap();
    let text = format!(
        "insert into {} (id, event_type, event_version, subject_type, payload) values ($1, 'secret.told', 1, 'secret', $2)",
        it.sandbox.table("event")
    );
    let bare = sqlx::query(AssertSqlSafe(text))
        .bind(Uuid::new_v4())
        .bind(payload)
        .execute(it.sandbox.pool())
        .await
        .unwrap_err();
    assert!(format!("{bare:?}").contains(MARKER), "{bare:?}");

    let mut tx = it.outbox.begin().await.unwrap();
    let refused = it.outbox.publish(&mut tx, &told).await.unwrap_err();
    tx.rollback().await.unwrap();
    let PublishError::Database { source, .. } = &refused else { panic!("{refused}") };
    let database = source.as_database_error().unwrap();
    assert_eq!(
        (code(source).as_str(), database.constraint(), database.is_check_violation()),
        ("23514", Some("closed"), true)
    );
    errors.extend(texts(&refused));
    let mut tx = it.outbox.begin().await.unwrap();
    let kept = Keep { mode: Mode::Fine, secret: MARKER.into() };
    let publishing = it.outbox.enqueue(&mut tx, &kept);
    errors.push(format!("{publishing:?}"));
    let refused = publishing.await.unwrap_err();
    tx.rollback().await.unwrap();
    errors.extend(texts(&refused));

    // Settling a job as failed moves its payload to a table that does not take it.
    it.sandbox
        .execute(
            "alter table :schema.event drop constraint closed; alter table :schema.job_live drop constraint closed",
        )
        .await;
    it.sandbox.execute("alter table :schema.job_failed add constraint closed check (reason = 'none') not valid").await;
    it.tell(Mode::Fail).await;
    let drained = it.outbox.drain().await.unwrap_err();
    errors.extend(texts(&drained));
    let job = it.sandbox.jobs().await.of("secret.keep").only().id;
    let refused = it.outbox.cancel(job, "why").await.unwrap_err();
    errors.extend(texts(&refused));
    it.sandbox.execute("alter table :schema.job_failed drop constraint closed").await;
    it.outbox.cancel(job, "why").await.unwrap();
    it.sandbox
        .execute("alter table :schema.job_live add constraint closed check (job_type <> 'secret.keep') not valid")
        .await;
    let refused = it.outbox.redrive(job).await.unwrap_err();
    errors.extend(texts(&refused));
    assert_kept(&errors);
    assert_kept(&logs.lines());
    assert_kept(&it.stored_errors().await);
    assert!(errors.iter().filter(|text| text.contains("violates check constraint")).count() >= 5, "{errors:#?}");
}

/// A worker that cannot write an outcome says so, without the row.
#[tokio::test]
async fn an_outcome_that_cannot_be_written_shows_no_payload() {
    let it = Secrets::new().await;
    it.sandbox.execute("alter table :schema.job_failed add constraint closed check (reason = 'none') not valid").await;
    let logs = Logs::everything();
    it.tell(Mode::Fail).await;
    let said = async {
        outbox_testing::eventually("the worker says that it cannot write", async || {
            let lines = logs.lines();
            (lines.iter().filter(|line| line.contains("could not be written")).count() >= 3).then_some(())
        })
        .await;
    };
    it.outbox.run(said).await.unwrap();
    assert_kept(&logs.lines());
    assert_kept(&it.stored_errors().await);
}
