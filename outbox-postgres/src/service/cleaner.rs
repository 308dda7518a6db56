//! What is over goes: by its age, and the dead rows of the live jobs' table when there are many. And what waits is counted, for the gauges. On a
//! connection of its own, so that rescue waits for none of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::dead_rows::DeadRows;
use super::in_hand::InHand;
use crate::error::told;
use crate::health::Starving;
use crate::lane::{Lane, LaneError};
use crate::outbox::Outbox;
use crate::sqlstate::Class;
use crate::step;
use crate::step::depth::Depth;
use crate::step::prune::{Chore, Pruned};
use crate::step::vacuum::Look;

/// How often memory is asked whether there is something to do.
const TICK: Duration = Duration::from_millis(500);
/// A vacuum of a large table takes its time. Nothing depends on it, so one on a connection that is dead without saying so may, too.
const VACUUM_LIMIT: Duration = Duration::from_mins(10);
/// A piece of pruning takes milliseconds; an index on a day of finished jobs, which an upgrade asks for once, takes longer.
const PRUNE_LIMIT: Duration = Duration::from_mins(1);
const LOOK_LIMIT: Duration = Duration::from_secs(3);
/// Between two passes over all chores. Each says itself when it is due.
const PRUNE_EVERY: Duration = Duration::from_mins(1);
/// Pruning goes on for a fifth of the time at most.
const REST: u32 = 4;
const LEAST_REST: Duration = Duration::from_millis(20);
/// Between two counts of what waits: at least this, and so many times what the last one took, which passes over dead rows as a claim does.
const COUNT_EVERY: Duration = Duration::from_secs(15);
const COUNT_SHARE: u32 = 20;
const COUNT_LIMIT: Duration = Duration::from_secs(10);
/// A moment without a worker, as a deployment has it, is not told of.
const STARVES_AFTER: Duration = Duration::from_secs(30);
/// Whoever may not vacuum asks again, because a grant may have come.
const NOT_ALLOWED_PAUSE: Duration = Duration::from_hours(1);
/// The statistics of a vacuum come a moment behind it on PostgreSQL 14.
const COUNTED_WITHIN: u32 = 10;

pub(crate) struct Cleaner {
    outbox: Outbox,
    in_hand: Arc<InHand>,
    lane: Lane,
    stop: CancellationToken,
    /// Fires when upkeep has seen to the tables of the days to come. Dropping old ones takes the same lock, and is put off by minutes where
    /// it meets it: the two would, at each start.
    furnished: CancellationToken,
    dead_rows: DeadRows,
    /// Nothing is vacuumed before.
    not_before: Instant,
    said_not_allowed: bool,
    /// The place in the order of chores, and when it goes on from there.
    chore: usize,
    prune_at: Instant,
    count_at: Instant,
}

impl Cleaner {
    pub(crate) fn new(
        outbox: &Outbox,
        in_hand: Arc<InHand>,
        stop: CancellationToken,
        furnished: CancellationToken,
    ) -> Self {
        let now = Instant::now();
        Self {
            outbox: outbox.clone(),
            in_hand,
            lane: outbox.lane("clean").with_statement_limit(VACUUM_LIMIT),
            stop,
            furnished,
            dead_rows: DeadRows::new(),
            not_before: now,
            said_not_allowed: false,
            chore: 0,
            prune_at: now,
            count_at: now,
        }
    }

    pub(crate) async fn run(mut self) {
        let stop = self.stop.clone();
        while !stop.is_cancelled() {
            let pause = if self.furnished.is_cancelled() {
                TICK.min(self.prune_at.saturating_duration_since(Instant::now()))
            } else {
                TICK
            };
            let turn = async {
                tokio::time::sleep(pause).await;
                self.count_if_due().await;
                self.vacuum_if_worth_it().await;
                self.prune_if_due().await;
            };
            tokio::select! {
                // A vacuum that is under way goes on at the server, and ends there.
                () = stop.cancelled() => break,
                () = turn => {}
            }
        }
        self.lane.close().await;
    }

    /// What waits and what failed, for the gauges.
    async fn count_if_due(&mut self) {
        let begun = Instant::now();
        if begun < self.count_at {
            return;
        }
        let statements = self.outbox.statements();
        let depth = async |connection: &mut _| step::depth::depth(connection, statements).await;
        let counted = self.lane.run(COUNT_LIMIT, depth).await;
        // One that is not waited for any more goes on at the server, for as long as this lane's statements may. Two at once would be worse.
        let least = if matches!(counted, Err(LaneError::Deadline(_))) { VACUUM_LIMIT } else { COUNT_EVERY };
        match counted {
            Ok(found) => {
                self.outbox.inner().meters.depths(&found);
                starve(&self.outbox, &found);
            }
            // The gauge of when they were written tells.
            Err(error) => tracing::debug!(error = told(&error), "what waits was not counted"),
        }
        self.count_at = Instant::now() + least.max(begun.elapsed() * COUNT_SHARE);
    }

    async fn vacuum_if_worth_it(&mut self) {
        let now = Instant::now();
        if now < self.not_before || !self.dead_rows.look_now(self.in_hand.outcomes(), now) {
            return;
        }
        match self.vacuum().await {
            Ok(()) => self.said_not_allowed = false,
            // Nothing depends on it, and whoever cannot reach the database hears of it from the others.
            Err(error) => tracing::debug!(error = told(&error), "the live jobs' table was not vacuumed"),
        }
    }

    async fn vacuum(&mut self) -> Result<(), LaneError> {
        let before = self.look().await?;
        if !before.allowed {
            self.not_allowed();
            return Ok(());
        }
        if !DeadRows::worth(before) {
            return Ok(());
        }
        let begun = Instant::now();
        let schema = self.outbox.schema().clone();
        self.lane.run_alone(VACUUM_LIMIT, async |connection| step::vacuum::vacuum(connection, &schema).await).await?;
        let took = begun.elapsed();
        let after = self.counted(before).await?;
        tracing::debug!(dead = before.dead, left = after.dead, ?took, "vacuumed the live jobs' table");
        self.dead_rows.vacuumed(before, after, Instant::now());
        Ok(())
    }

    async fn look(&mut self) -> Result<Look, LaneError> {
        let (statements, schema) = (self.outbox.statements(), self.outbox.schema());
        let look = async |connection: &mut _| step::vacuum::look(connection, statements, schema).await;
        self.lane.run(LOOK_LIMIT, look).await
    }

    /// What the statistics say once they know of this vacuum; or what they said last, when it did not take place.
    async fn counted(&mut self, before: Look) -> Result<Look, LaneError> {
        let mut after = self.look().await?;
        for _ in 0..COUNTED_WITHIN {
            if after.vacuums > before.vacuums {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            after = self.look().await?;
        }
        Ok(after)
    }

    fn not_allowed(&mut self) {
        self.not_before = Instant::now() + NOT_ALLOWED_PAUSE;
        if !std::mem::replace(&mut self.said_not_allowed, true) {
            tracing::info!(
                "this role may not vacuum the live jobs' table, so that is left to autovacuum; a long backlog drains more slowly then"
            );
        }
    }

    /// One piece of one chore.
    async fn prune_if_due(&mut self) {
        let begun = Instant::now();
        if begun < self.prune_at || !self.furnished.is_cancelled() {
            return;
        }
        let chore = Chore::ALL[self.chore];
        let more = match self.prune(chore).await {
            Ok(pruned) => {
                told_of(chore, &pruned);
                pruned.more
            }
            Err(error) => {
                let (chore, class, error) = (chore.name(), error.class(), told(&error));
                if matches!(class, Class::Setup | Class::Refused) {
                    tracing::warn!(chore, error, "what has ended and is old was not removed, trying again");
                } else {
                    // Others tell of a database that is away; and what somebody holds is free a moment later.
                    tracing::debug!(chore, error, "what has ended and is old was not removed, trying again");
                }
                false
            }
        };
        let rest = (begun.elapsed() * REST).max(LEAST_REST);
        if !more {
            self.chore = (self.chore + 1) % Chore::ALL.len();
        }
        self.prune_at = Instant::now() + if self.chore == 0 && !more { PRUNE_EVERY } else { rest };
    }

    async fn prune(&mut self, chore: Chore) -> Result<Pruned, LaneError> {
        let Some(days) = self.outbox.config().retention.age(chore.kind()) else { return Ok(Pruned::default()) };
        let schema = self.outbox.schema();
        let prune = async |connection: &mut _| step::prune::prune(connection, schema, chore, days).await;
        self.lane.run(PRUNE_LIMIT, prune).await
    }
}

/// What nobody runs is kept for the probes, and told of once, when it begins and when it is over.
fn starve(outbox: &Outbox, found: &[Depth]) {
    let of = |depth: &Depth| -> Vec<Starving> {
        let long = depth.starving.iter().filter(|one| one.late > STARVES_AFTER.as_secs_f64());
        let starving = long.map(|one| Starving {
            handler: depth.handler.clone(),
            version: one.version,
            due: one.due,
            lasting: Duration::try_from_secs_f64(one.late).unwrap_or_default(),
        });
        starving.collect()
    };
    let mut now: Vec<_> = found.iter().flat_map(of).collect();
    now.sort_by(|one, other| (&one.handler, one.version).cmp(&(&other.handler, other.version)));
    let before = outbox.vitals().starving_are(now.clone());
    let same = |one: &Starving, other: &Starving| (&one.handler, one.version) == (&other.handler, other.version);
    for one in now.iter().filter(|one| !before.iter().any(|other| same(one, other))) {
        tracing::warn!(
            handler = one.handler,
            version = one.version,
            due = one.due,
            "{one}; they are kept, uncharged: deploy a binary that knows it, or say `aliases(\"{handler}\")` at its new name; if it is gone for \
             good, `outbox.retire(\"{handler}\").await?` keeps more from coming; `outbox.unclaimed()` tells more",
            handler = one.handler,
        );
    }
    for one in before.iter().filter(|one| !now.iter().any(|other| same(one, other))) {
        tracing::info!(handler = one.handler, version = one.version, "its due jobs starve no more");
    }
}

fn told_of(chore: Chore, pruned: &Pruned) {
    if let Some(partition) = &pruned.dropped {
        tracing::info!(
            partition,
            moved = pruned.moved,
            "dropped a partition: all in it has ended and is old enough to go"
        );
    }
    if pruned.gone > 0 {
        tracing::debug!(chore = chore.name(), rows = pruned.gone, "removed what has ended and is old enough to go");
    }
    if pruned.held {
        tracing::info!(
            chore = chore.name(),
            "somebody holds a lock that is needed to drop a partition, trying again in five minutes"
        );
    }
}
