//! Takes the ticks of this process's schedules when they are due, on a connection of its own. Every process that links a schedule does,
//! without a leader: the schedule's row lets one of them have each tick.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use outbox_core::CatchUp;
use outbox_core::timetable::{Timetable, Turn};
use tokio_util::sync::CancellationToken;

use crate::backoff::Reconnect;
use crate::lane::{self, Lane, LaneError};
use crate::outbox::Outbox;
use crate::sqlstate::Class;
use crate::step;
use crate::step::schedule::{Due, Taken};

const STATEMENT_LIMIT: Duration = Duration::from_secs(3);
/// A schedule that another process has declared anew or resumed is seen within this time.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How soon a tick is looked at again that somebody else has in hand.
const AGAIN: Duration = Duration::from_millis(100);
/// The database's clock and ours do not run at one pace.
const SHORTEST: Duration = Duration::from_millis(2);
/// Most schedules of one round; those that are due first.
const MOST: i32 = 100;

pub(crate) struct Scheduler {
    outbox: Outbox,
    names: Vec<&'static str>,
    lane: Lane,
    stop: CancellationToken,
    /// By cadence and zone; `None` for what this release cannot read.
    timetables: HashMap<(String, String), Option<Arc<Timetable>>>,
}

impl Scheduler {
    /// `None` where this process runs no schedule.
    pub(crate) fn new(outbox: &Outbox, stop: CancellationToken) -> Option<Self> {
        let names: Vec<_> = outbox.inner().schedules().map(|(handler, _)| handler.name).collect();
        let lane = outbox.lane("schedule").with_settings(lane::BY_INDEX);
        (!names.is_empty()).then(|| Self { outbox: outbox.clone(), names, lane, stop, timetables: HashMap::new() })
    }

    pub(crate) async fn run(mut self) {
        let mut reconnect = Reconnect::of(&self.outbox, "schedule");
        let stop = self.stop.clone();
        while !stop.is_cancelled() {
            let round = tokio::select! {
                () = stop.cancelled() => break,
                round = self.round() => round,
            };
            match round {
                Ok(pause) => {
                    reconnect.succeeded();
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = tokio::time::sleep(pause) => {}
                    }
                }
                // Others moved the same rows: what they left is looked at at once.
                Err(error) if matches!(error.class(), Class::Conflict) => {}
                Err(error) => reconnect.failed(&error, &stop).await,
            }
        }
        self.lane.close().await;
    }

    /// Answers how soon to look again.
    async fn round(&mut self) -> Result<Duration, LaneError> {
        let (statements, names) = (self.outbox.statements(), &self.names);
        let due = async |connection: &mut _| step::schedule::due(connection, statements, names, MOST).await;
        let all = self.lane.run(STATEMENT_LIMIT, due).await?;
        self.outbox.vitals().schedules_are(coming(&all));
        let mut pause = LOOK_EVERY;
        // One that is refused keeps no other from its turn.
        let mut refused = None;
        for one in &all {
            if one.next_tick > one.now {
                pause = pause.min((one.next_tick - one.now).to_std().unwrap_or_default());
                break;
            }
            match self.turn(one).await {
                Ok(Some(Taken::Elsewhere)) => pause = pause.min(AGAIN),
                Ok(Some(Taken::Jobs(_) | Taken::Busy)) => pause = Duration::ZERO,
                Ok(None) => {}
                Err(error) if error.class() == Class::Connection => return Err(error),
                Err(error) => refused = Some(error),
            }
        }
        refused.map_or(Ok(pause.max(SHORTEST)), Err)
    }

    /// `None` for a schedule that this release cannot read.
    async fn turn(&mut self, due: &Due) -> Result<Option<Taken>, LaneError> {
        let Some(turn) = self.decide(due) else { return Ok(None) };
        let statements = self.outbox.statements();
        let take = async |connection: &mut _| step::schedule::take(connection, statements, due, &turn).await;
        let taken = self.lane.run(STATEMENT_LIMIT, take).await?;
        told_of(due, &turn, taken);
        if matches!(taken, Taken::Jobs(1..)) {
            self.measure(due, &turn);
            self.outbox.kick();
        }
        Ok(Some(taken))
    }

    /// How late each tick that is run is, by the server's clock.
    fn measure(&self, due: &Due, turn: &Turn) {
        for tick in &turn.take {
            let late = (due.now - *tick).to_std().unwrap_or_default();
            self.outbox.inner().meters.ticked(&due.name, late);
        }
    }

    /// By what its row says, not by what this binary's code says: while two releases run, the one that has declared it last is right.
    fn decide(&mut self, due: &Due) -> Option<Turn> {
        let key = (due.cadence.clone(), due.zone.clone());
        let times = self.timetables.entry(key).or_insert_with(|| {
            let read = Timetable::stored(&due.cadence, &due.zone);
            let unread = |why| tracing::warn!(schedule = due.name, cadence = due.cadence, zone = due.zone, %why, "a later release has declared this schedule, and this one cannot read it: its ticks are left to others");
            read.map_err(unread).ok().map(Arc::new)
        });
        let catch_up = CatchUp::of_stored(&due.catch_up, due.catch_up_most)?;
        times.as_ref().map(|times| times.turn(catch_up, due.next_tick, due.now))
    }
}

/// Takes all ticks of this process's schedules that are due when it begins, in their order. Those that another process has in hand are its own.
pub(super) async fn take_due(outbox: &Outbox) -> Result<(), LaneError> {
    let Some(mut scheduler) = Scheduler::new(outbox, CancellationToken::new()) else { return Ok(()) };
    let (statements, names) = (outbox.statements(), scheduler.names.clone());
    let due = async |connection: &mut _| step::schedule::due(connection, statements, &names, i32::MAX).await;
    for one in scheduler.lane.run(STATEMENT_LIMIT, due).await? {
        if one.next_tick <= one.now {
            scheduler.turn(&one).await?;
        }
    }
    scheduler.lane.close().await;
    Ok(())
}

/// When each of them is due, by this process's monotonic clock.
fn coming(all: &[Due]) -> Vec<(String, Instant)> {
    let here = Instant::now();
    let due = |one: &Due| {
        let ahead = one.next_tick - one.now;
        let due = match ahead.to_std() {
            Ok(ahead) => here.checked_add(ahead),
            Err(_) => here.checked_sub(ahead.abs().to_std().unwrap_or_default()),
        };
        Some((one.name.clone(), due?))
    };
    all.iter().filter_map(due).collect()
}

fn told_of(due: &Due, turn: &Turn, taken: Taken) {
    let schedule = &due.name;
    match taken {
        Taken::Elsewhere => {}
        Taken::Jobs(jobs) => {
            for tick in &turn.take {
                tracing::debug!(schedule, %tick, jobs, "tick taken: its job is enqueued");
            }
            if turn.missed {
                tracing::warn!(schedule, due = %due.next_tick, now = %due.now, jobs, "ticks were missed, and passed over as the schedule's policy says");
            }
        }
        Taken::Busy => {
            tracing::info!(schedule, tick = %due.next_tick, "tick passed over: the run of a former one has not ended");
        }
    }
}
