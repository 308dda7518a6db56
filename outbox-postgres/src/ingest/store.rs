//! One batch, one transaction: what fits becomes events, the rest goes to quarantine.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use outbox_core::{Envelope, EventId, SubscriberDescriptor};
use sqlx::{Connection, PgConnection};

use super::arrival::{Arrival, QuarantineClass, Taken, Unfit};
use super::judge::Judged;
use super::{STORE_LIMIT, Way, judge};
use crate::in_transaction;
use crate::lane::{Lane, LaneError};
use crate::step;
use crate::step::ingest::Answer;

/// Stores a batch over the lane; where this binary has in-transaction subscribers of one of its events, over a connection of the
/// application's pool, which they may rely on.
pub(super) async fn store(lane: &mut Lane, way: &Way, arrivals: &[Arrival<'_>]) -> Result<Vec<Taken>, LaneError> {
    let outbox = &way.outbox;
    let judged: Vec<_> =
        arrivals.iter().map(|arrival| judge::judged(outbox, &way.source, arrival.read.clone())).collect();
    let calls = judged.iter().flatten().any(|event| !outbox.fan_out(&event.name).subscribers.is_empty());
    let (taken, jobs) = if calls {
        let stored = tokio::time::timeout(STORE_LIMIT, over_the_pool(way, arrivals, &judged)).await;
        stored.unwrap_or_else(|_| Err(sqlx::Error::PoolTimedOut))?
    } else {
        let step = async |connection: &mut PgConnection| together(connection, way, arrivals, &judged).await;
        lane.run(STORE_LIMIT, step).await?
    };
    if jobs {
        outbox.kick();
    }
    Ok(taken)
}

/// What each was taken as, and whether there are jobs for somebody to be woken for.
type Outcome = (Vec<Taken>, bool);

async fn over_the_pool(way: &Way, arrivals: &[Arrival<'_>], judged: &[Judged]) -> Result<Outcome, sqlx::Error> {
    // Whatever the application has as default: what waits for another process must see what that has committed.
    let mut transaction = way.outbox.pool().begin_with("begin isolation level read committed").await?;
    let taken = together(&mut transaction, way, arrivals, judged).await?;
    transaction.commit().await?;
    Ok(taken)
}

/// All or nothing. What failed is rolled back at once: its locks would otherwise stay until the connection is used again.
async fn together(
    connection: &mut PgConnection,
    way: &Way,
    arrivals: &[Arrival<'_>],
    judged: &[Judged],
) -> Result<Outcome, sqlx::Error> {
    let mut transaction = connection.begin().await?;
    match write(&mut transaction, way, arrivals, judged).await {
        Ok(outcome) => transaction.commit().await.map(|()| outcome),
        Err(error) => Err(transaction.rollback().await.err().unwrap_or(error)),
    }
}

async fn write(
    connection: &mut PgConnection,
    way: &Way,
    arrivals: &[Arrival<'_>],
    judged: &[Judged],
) -> Result<Outcome, sqlx::Error> {
    let events = events(connection, way, judged).await?;
    let jobs = events.values().any(|event| matches!(event, Ok(Taken::Stored { jobs: 1.. })));
    let mut taken: Vec<Option<Taken>> = vec![None; arrivals.len()];
    let mut unfit = Vec::new();
    let mut seen = HashSet::new();
    for (place, judged) in judged.iter().enumerate() {
        match judged.as_ref().map_err(Clone::clone).and_then(|event| Ok((key(event), events[&key(event)].clone()?))) {
            Err(why) => unfit.push((place, why)),
            Ok((one, Taken::Stored { .. })) if !seen.insert(one) => taken[place] = Some(Taken::Duplicate),
            Ok((_, stored)) => taken[place] = Some(stored),
        }
    }
    let messages: Vec<_> = unfit.iter().map(|(place, why)| (&arrivals[*place], why)).collect();
    let kept = step::quarantine::keep(connection, way.outbox.statements(), &way.source, &messages).await?;
    for ((place, why), kept) in unfit.into_iter().zip(kept) {
        taken[place] = Some(Taken::Quarantined { id: kept.id, unfit: why, again: !kept.is_new });
    }
    Ok((taken.into_iter().flatten().collect(), jobs))
}

/// What tells the events of a batch from each other: messages of one id and type are one event.
pub(super) type Key<'e> = (EventId, &'e str);

pub(super) fn key(event: &Envelope) -> Key<'_> {
    (event.id, &event.name)
}

/// The events of a batch, each once: as what it is stored, or why not.
pub(super) async fn events<'e>(
    connection: &mut PgConnection,
    way: &Way,
    judged: &'e [Judged],
) -> Result<HashMap<Key<'e>, Result<Taken, Unfit>>, sqlx::Error> {
    let mut seen = HashSet::new();
    let mut rest: Vec<&Envelope> = judged.iter().flatten().filter(|event| seen.insert(key(event))).collect();
    step::ingest::settle_with_backfills(connection, &way.outbox, &rest).await?;
    let mut taken = HashMap::new();
    // Another type's event under an id of this batch: it goes behind the first one, and finds what that has left of the id.
    while !rest.is_empty() {
        let mut ids = HashSet::new();
        let (mut round, later): (Vec<_>, _) = rest.into_iter().partition(|event| ids.insert(event.id));
        round.sort_unstable_by_key(|event| event.id);
        round_of(connection, way, &round, &mut taken).await?;
        rest = later;
    }
    Ok(taken)
}

/// Events of as many ids, ascending.
async fn round_of<'e>(
    connection: &mut PgConnection,
    way: &Way,
    round: &[&'e Envelope],
    taken: &mut HashMap<Key<'e>, Result<Taken, Unfit>>,
) -> Result<(), sqlx::Error> {
    let outbox = &way.outbox;
    let (bound, plain): (Vec<&Envelope>, Vec<_>) =
        round.iter().partition(|event| !outbox.fan_out(&event.name).subscribers.is_empty());
    let answers = step::ingest::ingest(connection, outbox, &plain, way.everything).await?;
    taken.extend(plain.into_iter().zip(answers).map(|(event, answer)| (key(event), taken_as(event, answer))));
    for event in bound {
        taken.insert(key(event), with_subscribers(connection, way, event).await?);
    }
    Ok(())
}

fn taken_as(event: &Envelope, answer: Answer) -> Result<Taken, Unfit> {
    if let Some(handlers) = answer.unlinked {
        let reason = format!(
            "in-transaction subscribers must see it, and are not linked into this binary: {}; redrive it from one that links them",
            handlers.join(", ")
        );
        return Err(Unfit::of(event, QuarantineClass::Refused, reason));
    }
    if !answer.known {
        let reason = format!("nobody here declares or receives `{}`", event.name);
        return Err(Unfit::of(event, QuarantineClass::UnknownType, reason));
    }
    match answer.stored_as {
        _ if answer.is_new => Ok(Taken::Stored { jobs: answer.jobs }),
        Some(other) if other != event.name => {
            let reason = format!("its id is already that of another event, of type `{other}`");
            Err(Unfit::of(event, QuarantineClass::NotAnId, reason))
        }
        _ => Ok(Taken::Duplicate),
    }
}

/// One event, behind a savepoint: what its in-transaction subscribers refuse is not stored, and stops nobody else.
async fn with_subscribers(
    connection: &mut PgConnection,
    way: &Way,
    event: &Envelope,
) -> Result<Result<Taken, Unfit>, sqlx::Error> {
    let outbox = &way.outbox;
    let fan_out = outbox.fan_out(&event.name).into_owned();
    let mut savepoint = connection.begin().await?;
    let Some(answer) = step::ingest::ingest(&mut savepoint, outbox, &[event], way.everything).await?.pop() else {
        return Err(sqlx::Error::RowNotFound);
    };
    let retired = answer.retired.clone().unwrap_or_default();
    let is_active =
        |one: &&SubscriberDescriptor| !retired.split(' ').any(|name| one.all_names().any(|own| own == name));
    let active: Vec<_> = fan_out.subscribers.iter().copied().filter(is_active).collect();
    let is_new = answer.is_new;
    let taken = taken_as(event, answer);
    if is_new && !active.is_empty() {
        let envelope = Arc::new(event.clone());
        if let Err(reason) = in_transaction::run_for(&mut savepoint, outbox, &active, &envelope).await? {
            savepoint.rollback().await?;
            return Ok(Err(Unfit::of(event, QuarantineClass::Refused, reason)));
        }
    }
    savepoint.commit().await?;
    Ok(taken)
}
