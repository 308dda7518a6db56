//! Executions that take the transaction, one after the other on one connection of the application's pool.
//!
//! A connection that goes back to the pool makes a round trip on its way, because sqlx asks it whether it lives; and a commit that the next
//! transaction begins with saves another. Of a quick handler's round trips those are two in five. So the task of an execution that is
//! committed waits a moment for the next one. It ends when none comes, and when its connection has been away for a while: the pool's
//! queue is fair, and the application's own requests stand in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::{PgConnection, PgPool};
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::time::timeout;
use tracing::{Instrument as _, Span};
use uuid::Uuid;

use super::slot::{Report, Slot};
use crate::identity;
use crate::outbox::Outbox;
use crate::step::run::{Execution, Ran};
use crate::step::run_tx::Left;
use crate::step_back::step_back;

/// How long a connection goes from handler to handler before it goes back all the same, where the pool has no other to give.
const AWAY: Duration = Duration::from_millis(20);
/// Where it has: then nobody waits for one, but it may have something to do with each that comes back, or find it too old.
const AWAY_FROM_OTHERS: Duration = Duration::from_secs(1);
/// How long it waits for the next one, perhaps in a transaction.
const PATIENCE: Duration = Duration::from_millis(1);

/// An execution that has its slot.
pub(crate) struct Turn {
    pub(crate) report: Report,
    pub(crate) slot: Slot,
    pub(crate) execution: Execution,
    span: Span,
}

impl Turn {
    pub(crate) fn new(report: Report, slot: Slot, execution: Execution) -> Box<Self> {
        let span = execution.span();
        Box::new(Self { report, slot, execution, span })
    }

    async fn end(self: Box<Self>, ran: Ran) {
        self.report.hand_over(&self.slot, self.execution.job.key(), ran).await;
    }

    fn without_a_transaction(self: Box<Self>, error: &sqlx::Error) -> Last {
        let ran = self.span.in_scope(|| self.execution.no_connection(error, Instant::now()));
        Last { turn: Some((self, ran)), sound: false }
    }
}

/// Of one worker.
pub(crate) struct Succession {
    outbox: Outbox,
    /// What a transaction is known by that begins with the commit before it, whichever job comes: one text for all.
    name: Uuid,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Those that wait for an execution, in a transaction or in none.
    open: Vec<oneshot::Sender<Box<Turn>>>,
    idle: Vec<oneshot::Sender<Box<Turn>>>,
    /// How many executions of each handler wait in memory for a slot.
    queued: Vec<u32>,
    /// How many of those a transaction has begun for.
    promised: Vec<u32>,
    /// The worker gives out no more.
    over: bool,
}

impl State {
    /// Of a task that waits, if there is one.
    fn place(&mut self) -> Option<oneshot::Sender<Box<Turn>>> {
        self.open.pop().or_else(|| self.idle.pop())
    }
}

/// A transaction that begins for one of those of a handler that wait in memory.
struct Promise<'s>(&'s Succession, usize);

impl Drop for Promise<'_> {
    fn drop(&mut self) {
        self.0.state().promised[self.1] -= 1;
    }
}

/// What is left when nothing follows on a connection: an outcome to be handed over, and whether the connection is in good order.
struct Last {
    turn: Option<(Box<Turn>, Ran)>,
    sound: bool,
}

impl Succession {
    /// None where each connection goes back to the pool by itself.
    pub(crate) fn of(outbox: &Outbox) -> Option<Arc<Self>> {
        let follow = outbox.config().profile.hand_over;
        follow.then(|| Arc::new(Self { outbox: outbox.clone(), name: identity::random(), state: Mutex::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is whole before the next line, so a panic leaves nothing half written.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many executions of each handler wait in memory for a slot.
    pub(crate) fn queue(&self, queued: impl Iterator<Item = u32>) {
        let mut state = self.state();
        state.queued.clear();
        state.queued.extend(queued);
        let handlers = state.queued.len();
        state.promised.resize(handlers, 0);
    }

    /// Nobody waits any more.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.queued.fill(0);
        state.over = true;
        let (open, idle) = (std::mem::take(&mut state.open), std::mem::take(&mut state.idle));
        drop(state);
        drop((open, idle));
    }

    /// Gives it to a task that waits for one; back where none does.
    pub(crate) fn pass(&self, mut turn: Box<Turn>) -> Option<Box<Turn>> {
        loop {
            let Some(place) = self.state().place() else { return Some(turn) };
            // One that has given up in the meantime leaves its place behind.
            match place.send(turn) {
                Ok(()) => return None,
                Err(back) => turn = back,
            }
        }
    }

    /// Runs it, and those that follow on its connection.
    pub(crate) async fn run(self: Arc<Self>, mut turn: Box<Turn>) {
        let started = Instant::now();
        // Nor does it wait for a connection then, which the earlier execution may hold.
        if self.outbox.inner().executing.has(turn.execution.job.job_id) {
            let ran = turn.span.in_scope(|| turn.execution.put_off(started));
            return turn.end(ran).await;
        }
        if let Some(ran) = turn.span.in_scope(|| turn.execution.without_a_call(started)) {
            return turn.end(ran).await;
        }
        // Boxed: the pool's future is large, and most executions of a backlog do without.
        let acquired = Box::pin(turn.execution.connection(started).instrument(turn.span.clone())).await;
        let mut connection = match acquired {
            Ok(connection) => connection,
            Err(ran) => return turn.end(ran).await,
        };
        let since = Instant::now();
        let last = loop {
            match self.follow(&mut connection, since, turn).await {
                Ok(next) => turn = next,
                Err(last) => break last,
            }
        };
        if !last.sound {
            connection.close_on_drop();
        }
        // First, because an outcome may wait for the settler, and no connection with it.
        drop(connection);
        if let Some((turn, ran)) = last.turn {
            turn.end(ran).await;
        }
    }

    /// Runs it in a transaction that is begun for it, and those behind it in such as begin with the commit before. Answers the next one
    /// for the connection, which is in no transaction.
    async fn follow(
        &self,
        connection: &mut PgConnection,
        since: Instant,
        mut turn: Box<Turn>,
    ) -> Result<Box<Turn>, Last> {
        let mut open = match turn.execution.open(connection).await {
            Ok(open) => open,
            Err(error) => return Err(turn.without_a_transaction(&error)),
        };
        loop {
            let (mut promise, handler) = (None, turn.slot.handler);
            let next = || {
                promise = self.promise(since, handler);
                promise.as_ref().map(|_| self.name)
            };
            let (ran, left) = turn.execution.run_in(open, next).instrument(turn.span.clone()).await;
            let (transaction, sound) = match left {
                Left::Next(transaction) => (Some(transaction), true),
                Left::Nothing => (None, true),
                Left::Unknown => (None, false),
            };
            let follows = transaction.is_some() || (sound && self.goes_on(since));
            if !follows || !matches!(ran, Ran::Committed { .. }) {
                return Err(Last { turn: Some((turn, ran)), sound });
            }
            // Before the slot is free, so that it is there for who gets the slot.
            let coming = self.wait(transaction.is_some());
            turn.end(ran).await;
            match (Self::next(coming).await, transaction) {
                (Some(next), Some(transaction)) => {
                    open = match transaction.suiting(&next.execution).await {
                        Ok(open) => open,
                        Err(error) => return Err(next.without_a_transaction(&error)),
                    };
                    turn = next;
                }
                (Some(next), None) => return Ok(next),
                (None, Some(transaction)) => {
                    let sound = !matches!(transaction.roll_back().await, Left::Unknown);
                    return Err(Last { turn: None, sound });
                }
                (None, None) => return Err(Last { turn: None, sound: true }),
            }
        }
    }

    /// Whether a connection that is away since then serves another one.
    fn goes_on(&self, since: Instant) -> bool {
        let pool = self.outbox.pool();
        let most = if has_others(pool) { AWAY_FROM_OTHERS } else { AWAY };
        since.elapsed() < most && !pool.is_closed()
    }

    /// Whether a transaction begins with a commit: for an execution that waits in memory, and that no other one has begun for. It is one of the
    /// same handler, because no other is sure to get the slot. Not through a pooler, which is there so that no session waits in a
    /// transaction.
    fn promise(&self, since: Instant, handler: usize) -> Option<Promise<'_>> {
        if self.outbox.config().transaction_pooler || !self.goes_on(since) {
            return None;
        }
        let mut state = self.state();
        let queued = state.queued.get(handler).copied()?;
        let promised = state.promised.get_mut(handler).filter(|promised| **promised < queued)?;
        *promised += 1;
        Some(Promise(self, handler))
    }

    fn wait(&self, open: bool) -> oneshot::Receiver<Box<Turn>> {
        let (place, coming) = oneshot::channel();
        let mut state = self.state();
        if !state.over {
            if open { &mut state.open } else { &mut state.idle }.push(place);
        }
        coming
    }

    async fn next(mut coming: oneshot::Receiver<Box<Turn>>) -> Option<Box<Turn>> {
        match coming.try_recv() {
            Ok(turn) => {
                // A handler may block its thread, and what was just woken may have its place on it.
                step_back().await;
                return Some(turn);
            }
            Err(TryRecvError::Closed) => return None,
            Err(TryRecvError::Empty) => {}
        }
        if let Ok(turn) = timeout(PATIENCE, &mut coming).await {
            return turn.ok();
        }
        coming.close();
        // It may have come in this very moment.
        coming.try_recv().ok()
    }
}

/// Whether a pool can give a connection at once, so that nobody waits for one.
fn has_others(pool: &PgPool) -> bool {
    pool.num_idle() > 0 || pool.size() < pool.options().get_max_connections()
}
