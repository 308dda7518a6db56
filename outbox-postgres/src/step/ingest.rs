//! ingest: events that were published elsewhere, under their own ids, with the jobs of those that are new.

use chrono::{DateTime, TimeDelta, Utc};
use outbox_core::{Envelope, Source, SubscriberDescriptor, name};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};
use ulid::Ulid;
use uuid::Uuid;

use crate::fan_out::FanOut;
use crate::outbox::Outbox;

/// Most events of one statement, and most bytes of payload in it.
const MAX_ROWS: usize = 1_000;
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// A backfill looks at ids from a day before its subscriber's activation on. Half of that is left to clocks that differ.
const OLD: TimeDelta = TimeDelta::hours(12);

/// What the statement says of one event.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) is_new: bool,
    pub(crate) jobs: u64,
    /// Somebody here declares or receives it.
    pub(crate) known: bool,
    /// In-transaction subscribers that this binary does not run.
    pub(crate) unlinked: Option<Vec<String>>,
    /// In-transaction subscribers that are not to be run, by all their names, with blanks between.
    pub(crate) retired: Option<String>,
    /// The type of the event that was there.
    pub(crate) stored_as: Option<String>,
}

/// Before events are written whose ids are old: no subscriber is activated until this transaction ends. Its backfill would look for what
/// this one does not fan out to it, and not as far back as these ids.
pub(crate) async fn settle_with_backfills(
    connection: &mut PgConnection,
    outbox: &Outbox,
    events: &[&Envelope],
) -> Result<(), sqlx::Error> {
    let before = Utc::now() - OLD;
    let is_old = |event: &&Envelope| DateTime::<Utc>::from(Ulid::datetime(&event.id.as_ulid())) < before;
    if !events.iter().any(is_old) {
        return Ok(());
    }
    let lock = outbox.schema().fill("lock table :schema.subscription in share mode");
    sqlx::query(lock.text()).execute(connection).await.map(drop)
}

/// Writes events, ascending by id, a thousand or 8 MiB a statement; answers for each in its order.
pub(crate) async fn ingest(
    connection: &mut PgConnection,
    outbox: &Outbox,
    events: &[&Envelope],
    everything: bool,
) -> Result<Vec<Answer>, sqlx::Error> {
    let mut answers = Vec::with_capacity(events.len());
    let mut rest = events;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = |event: &&&Envelope| {
            bytes += event.payload.as_json().len();
            bytes <= MAX_BYTES
        };
        let (chunk, behind) = rest.split_at(rest.iter().take(MAX_ROWS).take_while(fits).count().max(1));
        answers.extend(ingest_chunk(connection, outbox, chunk, everything).await?);
        rest = behind;
    }
    Ok(answers)
}

/// The same with no events: what it would be refused for, it is.
pub(crate) async fn probe(connection: &mut PgConnection, outbox: &Outbox) -> Result<(), sqlx::Error> {
    ingest_chunk(connection, outbox, &[], false).await.map(drop)
}

async fn ingest_chunk(
    connection: &mut PgConnection,
    outbox: &Outbox,
    events: &[&Envelope],
    everything: bool,
) -> Result<Vec<Answer>, sqlx::Error> {
    let column = |of: &dyn Fn(&Envelope) -> String| events.iter().map(|event| of(event)).collect::<Vec<_>>();
    let ids: Vec<Uuid> = events.iter().map(|event| event.id.as_uuid()).collect();
    let versions: Vec<i32> = events.iter().map(|event| event.version.cast_signed()).collect();
    let occurred: Vec<DateTime<Utc>> = events.iter().map(|event| event.occurred_at).collect();
    let subjects: Vec<Option<&str>> = events.iter().map(|event| event.subject.id.as_deref()).collect();
    let metadata = column(&|event| serde_json::to_string(&event.metadata).unwrap_or_else(|_| "{}".to_owned()));
    let mut names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let own = Own::of(outbox, &names);
    let rows = sqlx::query(outbox.statements().ingest.text())
        .bind(ids)
        .bind(column(&|event| event.name.clone()))
        .bind(versions)
        .bind(occurred)
        .bind(column(&|event| name::module_of(&event.name).to_owned()))
        .bind(subjects)
        .bind(column(&|event| event.payload.as_json().to_owned()))
        .bind(metadata)
        .bind(events.iter().map(|event| is_declared(outbox, event)).collect::<Vec<_>>())
        .bind(own.meant)
        .bind(own.patterns)
        .bind(own.types)
        .bind(own.handlers)
        .bind(own.max_attempts)
        .bind(own.priorities)
        .bind(own.any_version)
        .bind(own.linked)
        .bind(everything)
        .fetch_all(&mut *connection)
        .await?;
    let mut answers = rows.iter().map(answer).collect::<Result<Vec<_>, _>>()?;
    look_again(connection, outbox, events, &mut answers).await?;
    Ok(answers)
}

/// What another process had under way and has committed while the statement waited for it, its snapshot does not show: as which type an id
/// is there, a younger one says.
async fn look_again(
    connection: &mut PgConnection,
    outbox: &Outbox,
    events: &[&Envelope],
    answers: &mut [Answer],
) -> Result<(), sqlx::Error> {
    let is_unseen = |one: &Answer| one.known && one.unlinked.is_none() && !one.is_new && one.stored_as.is_none();
    let unseen = events.iter().zip(&*answers).filter(|(_, answer)| is_unseen(answer));
    let ids: Vec<Uuid> = unseen.map(|(event, _)| event.id.as_uuid()).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let text = outbox.schema().fill("select v.id, v.event_type from :schema.event v where v.id = any($1)");
    let rows = sqlx::query(text.text()).bind(ids).fetch_all(connection).await?;
    for row in rows {
        let (id, stored_as): (Uuid, String) = (row.try_get(0)?, row.try_get(1)?);
        for (_, answer) in events.iter().zip(&mut *answers).filter(|(event, _)| event.id.as_uuid() == id) {
            answer.stored_as = Some(stored_as.clone());
        }
    }
    Ok(())
}

/// This binary declares it, or receives it by more than `*`.
fn is_declared(outbox: &Outbox, event: &Envelope) -> bool {
    let registry = outbox.registry();
    let by_name = |one: &SubscriberDescriptor| matches!(one.source, Source::Event(pattern) if pattern != "*");
    registry.events().iter().any(|known| known.name == event.name) || registry.handlers_of(&event.name).any(by_name)
}

/// What this binary itself knows of the subscribers of some types, a row a type and subscriber.
#[derive(Default)]
struct Own<'a> {
    meant: Vec<&'a str>,
    patterns: Vec<String>,
    types: Vec<&'a str>,
    handlers: Vec<&'static str>,
    max_attempts: Vec<i32>,
    priorities: Vec<i16>,
    any_version: Vec<bool>,
    linked: Vec<&'static str>,
}

impl<'a> Own<'a> {
    fn of(outbox: &Outbox, names: &[&'a str]) -> Self {
        let mut own = Self::default();
        for name in names {
            let FanOut { patterns, handlers, max_attempts, priorities, any_version, in_transaction, .. } =
                outbox.fan_out(name).into_owned();
            own.meant.extend(patterns.iter().map(|_| *name));
            own.patterns.extend(patterns);
            own.types.extend(handlers.iter().map(|_| *name));
            own.handlers.extend(handlers);
            own.max_attempts.extend(max_attempts);
            own.priorities.extend(priorities);
            own.any_version.extend(any_version);
            own.linked.extend(in_transaction);
        }
        own
    }
}

fn answer(row: &PgRow) -> Result<Answer, sqlx::Error> {
    Ok(Answer {
        is_new: row.try_get("is_new")?,
        jobs: row.try_get::<i64, _>("jobs")?.unsigned_abs(),
        known: row.try_get("known")?,
        unlinked: row.try_get("unlinked")?,
        retired: row.try_get("retired")?,
        stored_as: row.try_get("stored_as")?,
    })
}
