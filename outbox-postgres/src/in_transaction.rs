//! In-transaction subscribers: run by `publish`, on the caller's connection, before it answers.
//!
//! What publish writes and what they write stands behind one savepoint, so that an error undoes all of it and leaves the caller's
//! transaction usable. Dropped in the middle, the savepoint is rolled back too: no event commits without its subscribers.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::{Delivery, Envelope, Item, Outcome, Subject, SubscriberDescriptor, TypeMap, Versions, name};
use sqlx::{Connection, PgConnection};

use crate::cancellation::Cancellation;
use crate::catalogue;
use crate::error::PublishError;
use crate::outbox::Outbox;
use crate::publish::{Batch, Published, Row};
use crate::scope::{self, Scope};
use crate::step;
use crate::step::bound::Lifted;
use crate::step::publish::Answer;
use crate::unwind::catch_panic;

/// The server ends a statement this long behind the longest of their times: what took too long is told as that.
const GRACE: Duration = Duration::from_millis(500);
/// How deep they may publish within each other.
const DEPTH_LIMIT: u8 = 8;

/// Publishes `batch` and runs `subscribers` for each event that is new.
pub(crate) async fn publish(
    connection: &mut PgConnection,
    batch: &Batch,
    metadata: &str,
    subscribers: &[&'static SubscriberDescriptor],
) -> Result<Vec<Published>, PublishError> {
    check(batch, subscribers)?;
    let database = |error| PublishError::database(batch.name, batch.outbox.schema(), error);
    let mut savepoint = connection.begin().await.map_err(database)?;
    match publish_and_run(&mut savepoint, batch, metadata, subscribers).await {
        Ok(published) => {
            savepoint.commit().await.map_err(database)?;
            Ok(published)
        }
        Err(error) => {
            // Where this fails the connection is gone, or its transaction, and whatever comes next on it says so.
            if let Err(error) = savepoint.rollback().await {
                tracing::warn!(event = batch.name, %error, "a publish that failed could not be undone by itself");
            }
            Err(error)
        }
    }
}

/// What is known before anything is sent.
fn check(batch: &Batch, subscribers: &[&'static SubscriberDescriptor]) -> Result<(), PublishError> {
    if scope::depth() >= DEPTH_LIMIT {
        return Err(PublishError::TooDeep { name: batch.name, limit: DEPTH_LIMIT });
    }
    let takes = |one: &&SubscriberDescriptor| match one.versions {
        Versions::Any => true,
        Versions::Only(versions) => versions.contains(&batch.version),
    };
    match subscribers.iter().find(|one| !takes(one)) {
        None => Ok(()),
        Some(handler) => {
            Err(failed(batch, handler, format!("it does not take version {} of the event", batch.version)))
        }
    }
}

async fn publish_and_run(
    connection: &mut PgConnection,
    batch: &Batch,
    metadata: &str,
    subscribers: &[&'static SubscriberDescriptor],
) -> Result<Vec<Published>, PublishError> {
    let answers = catalogue::publish(connection, batch, metadata).await?;
    let active: Vec<_> = subscribers.iter().copied().filter(|one| !is_retired(one, &answers)).collect();
    if !active.is_empty() && answers.iter().any(|answer| !answer.published.duplicate) {
        run(connection, batch, &answers, &active).await?;
    }
    Ok(answers.into_iter().map(|answer| answer.published).collect())
}

/// Whether the catalogue has it retired, under any of its names.
fn is_retired(subscriber: &SubscriberDescriptor, answers: &[Answer]) -> bool {
    // The statements of one batch read the catalogue one after the other; it is retired when the first of them says so.
    let retired = answers.first().and_then(|answer| answer.retired.as_deref()).unwrap_or_default();
    retired.split(' ').any(|name| subscriber.all_names().any(|own| own == name))
}

async fn run(
    connection: &mut PgConnection,
    batch: &Batch,
    answers: &[Answer],
    subscribers: &[&'static SubscriberDescriptor],
) -> Result<(), PublishError> {
    let database = |error| PublishError::database(batch.name, batch.outbox.schema(), error);
    let statements = batch.outbox.statements();
    let longest = subscribers.iter().map(|one| one.settings.timeout).max().unwrap_or_default();
    let limit = longest.saturating_add(GRACE);
    let bound = step::bound::bound(connection, statements, limit).await.map_err(database)?;
    let mut last = None;
    for (row, answer) in batch.rows.iter().zip(answers).filter(|(_, answer)| !answer.published.duplicate) {
        let envelope = Arc::new(envelope(batch, row, answer));
        for subscriber in subscribers {
            last = Some(*subscriber);
            let called = call(connection, &batch.outbox, subscriber, &envelope).await;
            called.map_err(|error| failed(batch, subscriber, error))?;
        }
    }
    let Some(last) = last else { return Ok(()) };
    match step::bound::lift(connection, statements, &bound).await {
        Ok(Lifted::Same) => Ok(()),
        Ok(Lifted::Other) => Err(failed(batch, last, ENDED.to_owned())),
        // A statement that failed and whose error was ignored has aborted what it was part of, and this one with it.
        Err(error) => Err(failed(batch, last, format!("it left the transaction aborted: {error}"))),
    }
}

const ENDED: &str = "it ended the transaction that it was given (a COMMIT or ROLLBACK in raw SQL)";

/// Runs subscribers for one event that came over a broker, behind the caller's savepoint: the inner result is what one of them said.
pub(crate) async fn run_for(
    connection: &mut PgConnection,
    outbox: &Outbox,
    subscribers: &[&'static SubscriberDescriptor],
    envelope: &Arc<Envelope>,
) -> Result<Result<(), String>, sqlx::Error> {
    let statements = outbox.statements();
    let longest = subscribers.iter().map(|one| one.settings.timeout).max().unwrap_or_default();
    let bound = step::bound::bound(connection, statements, longest.saturating_add(GRACE)).await?;
    for subscriber in subscribers {
        let said = |error: String| format!("the in-transaction subscriber `{}`: {error}", subscriber.name);
        let versions = match subscriber.versions {
            Versions::Any => None,
            Versions::Only(versions) => Some(versions),
        };
        if versions.is_some_and(|versions| !versions.contains(&envelope.version)) {
            return Ok(Err(said(format!("it does not take version {} of the event", envelope.version))));
        }
        if let Err(error) = call(connection, outbox, subscriber, envelope).await {
            return Ok(Err(said(error)));
        }
    }
    match step::bound::lift(connection, statements, &bound).await {
        Ok(Lifted::Same) => Ok(Ok(())),
        Ok(Lifted::Other) => Ok(Err(ENDED.to_owned())),
        Err(_) => Ok(Err("an in-transaction subscriber left the transaction aborted".to_owned())),
    }
}

/// The event as a worker would hand it over.
fn envelope(batch: &Batch, row: &Row, answer: &Answer) -> Envelope {
    Envelope {
        id: row.id,
        name: batch.name.to_owned(),
        version: batch.version,
        occurred_at: answer.occurred_at,
        subject: Subject { kind: name::module_of(batch.name).to_owned(), id: row.subject_id.clone() },
        metadata: batch.metadata.clone(),
        payload: row.payload.clone(),
    }
}

/// One subscriber for one event. Its error as a text, when it has one.
async fn call(
    connection: &mut PgConnection,
    outbox: &Outbox,
    subscriber: &'static SubscriberDescriptor,
    envelope: &Arc<Envelope>,
) -> Result<(), String> {
    let (effect, handler) = (envelope.id, subscriber.original_name());
    let items = [Item { envelope: Arc::clone(envelope), attempt: 1, effect, handler }];
    let mut runtime = TypeMap::default();
    runtime.insert(Cancellation::new());
    let delivery = Delivery::new(&items, outbox.state(), &runtime).with_connection::<PgConnection>(connection);
    let scope = Scope::in_transaction(outbox.clone(), Arc::clone(envelope));
    let call = scope.run(catch_panic(move || (subscriber.call)(delivery)));
    match tokio::time::timeout(subscriber.settings.timeout, call).await {
        Ok(Ok(Outcome::Done | Outcome::Skipped)) => Ok(()),
        Ok(Ok(Outcome::Failed { error, .. })) => Err(error),
        Ok(Err(panic)) => Err(outbox_core::error_chain::sanitise(&format!("it panicked: {panic}"))),
        Err(_) => Err(timed_out(subscriber.settings.timeout)),
    }
}

fn timed_out(limit: Duration) -> String {
    format!("it timed out after {limit:?}")
}

fn failed(batch: &Batch, subscriber: &SubscriberDescriptor, error: String) -> PublishError {
    PublishError::Subscriber { name: batch.name, handler: subscriber.name, error }
}
