//! Named points on the wire: right before the server sees a statement, and right after it has executed it.
//!
//! The engine has no hooks for this. Each of its statements begins with a comment that names it, as in
//! `-- claim: due jobs become running`, and a [`Proxy`](super::Proxy) reads the name where the statement passes. Statements
//! without such a comment, yours for instance, have their first word as their name: `commit`, `insert`.
//!
//! ```no_run
//! use outbox_testing::fault::{Point, Process, Proxy, Then};
//!
//! # async fn example(worker: Process, proxy: Proxy) {
//! // The worker holds jobs and does not know it: its claim is committed, and the answer is on its way.
//! let claimed = proxy.hold_at(Point::after("claim"));
//! claimed.until_reached().await;
//! claimed.cut(); // the answer is lost, and the connection with it
//!
//! // The process dies with its handler's effect committed and nothing else said.
//! let killer = worker.handle();
//! let died = proxy.call_at(Point::after("commit").following("settle_tx"), move || {
//!     killer.kill().expect("it is a child of ours");
//!     Then::Cut
//! });
//! died.until_reached().await;
//! # }
//! ```

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio::time::timeout;

use super::conversation::Executed;
use crate::eventually::DEADLINE;

/// Where something is to happen: before or after a statement, the first time unless said otherwise.
#[derive(Clone, Debug)]
pub struct Point {
    side: Side,
    statement: String,
    application: Option<String>,
    following: Option<String>,
    from: u32,
    every: bool,
}

/// On which side of a statement a point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

impl Point {
    /// Before the server sees the statement of this name.
    #[must_use]
    pub fn before(statement: impl Into<String>) -> Self {
        Self::at(Side::Before, statement.into())
    }

    /// After the server has executed the statement of this name (and, if it stood alone or was a `commit`, committed it), and
    /// before the program has any of the answer.
    #[must_use]
    pub fn after(statement: impl Into<String>) -> Self {
        Self::at(Side::After, statement.into())
    }

    /// Only on connections of this `application_name`. The engine's own are called `outbox claim`, `outbox settle`,
    /// `outbox renew`, `outbox upkeep`, and so on.
    #[must_use]
    pub fn of(self, application: impl Into<String>) -> Self {
        Self { application: Some(application.into()), ..self }
    }

    /// Only in a transaction that has executed `statement` before: `Point::before("commit").following("publish")`.
    #[must_use]
    pub fn following(self, statement: impl Into<String>) -> Self {
        Self { following: Some(statement.into()), ..self }
    }

    /// The `n`-th time, counted from 1 and from when the point is set.
    #[must_use]
    pub fn nth(self, n: u32) -> Self {
        Self { from: n.max(1), ..self }
    }

    /// Not once, but every time (from the n-th on).
    #[must_use]
    pub fn every_time(self) -> Self {
        Self { every: true, ..self }
    }

    fn at(side: Side, statement: String) -> Self {
        Self { side, statement, application: None, following: None, from: 1, every: false }
    }

    fn means(&self, side: Side, application: &str, executed: &Executed) -> bool {
        self.side == side
            && self.statement == executed.name
            && self.application.as_ref().is_none_or(|name| name == application)
            && self.following.as_ref().is_none_or(|name| executed.after.contains(name))
    }

    fn is_due(&self, time: u32) -> bool {
        time == self.from || (self.every && time > self.from)
    }
}

/// As one would say it: ``after `commit` following `settle_tx` ``.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.every, self.from) {
            (false, 1) => {}
            (false, n) => write!(f, "time {n} ")?,
            (true, 1) => f.write_str("each time ")?,
            (true, n) => write!(f, "each time from time {n} on ")?,
        }
        let side = match self.side {
            Side::Before => "before",
            Side::After => "after",
        };
        write!(f, "{side} `{}`", self.statement)?;
        if let Some(following) = &self.following {
            write!(f, " following `{following}`")?;
        }
        if let Some(application) = &self.application {
            write!(f, " of `{application}`")?;
        }
        Ok(())
    }
}

/// What becomes of a statement, or of its answer, after a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It goes on its way.
    Pass,
    /// It is lost, and its connection is reset on both sides.
    Cut,
}

pub(super) enum Action {
    Hold,
    Do(Then),
    Call(Arc<Mutex<dyn FnMut() -> Then + Send>>),
}

/// What is set at a point. Dropping it takes it away, and lets pass what it holds.
#[derive(Debug)]
pub struct Trap {
    set: Arc<Set>,
    traps: Traps,
}

impl Trap {
    /// How often it was reached.
    #[must_use]
    pub fn reached(&self) -> u32 {
        *self.set.reached.borrow()
    }

    /// Waits until it was reached.
    ///
    /// # Panics
    /// When that takes longer than [`DEADLINE`].
    pub async fn until_reached(&self) {
        let mut reached = self.set.reached.subscribe();
        let waited = timeout(DEADLINE, reached.wait_for(|times| *times > 0)).await;
        assert!(waited.is_ok(), "waited {DEADLINE:?} in vain for the point {}", self.set.point);
    }

    /// Lets pass what is held, now and from now on.
    pub fn release(&self) {
        self.set.ruling.send_replace(Some(Then::Pass));
    }

    /// Loses what is held, now and from now on, each with its connection.
    pub fn cut(&self) {
        self.set.ruling.send_replace(Some(Then::Cut));
    }
}

impl Drop for Trap {
    fn drop(&mut self) {
        self.traps.all().retain(|set| !Arc::ptr_eq(set, &self.set));
        // What `cut` has ruled stays so.
        self.set.ruling.send_modify(|ruling| {
            ruling.get_or_insert(Then::Pass);
        });
    }
}

struct Set {
    point: Point,
    action: Action,
    passed: AtomicU32,
    reached: watch::Sender<u32>,
    ruling: watch::Sender<Option<Then>>,
}

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Set")
            .field("point", &self.point)
            .field("reached", &*self.reached.borrow())
            .finish_non_exhaustive()
    }
}

impl Set {
    async fn act(&self) -> Then {
        self.reached.send_modify(|times| *times += 1);
        match &self.action {
            Action::Do(then) => *then,
            Action::Hold => {
                let ruling = self.ruling.subscribe().wait_for(Option::is_some).await.map(|ruling| *ruling);
                ruling.ok().flatten().unwrap_or(Then::Pass)
            }
            Action::Call(callback) => {
                let callback = Arc::clone(callback);
                // It may block, and the other connections go on meanwhile. If it panics, nothing is known of what it did.
                let call = move || callback.lock().unwrap_or_else(PoisonError::into_inner)();
                tokio::task::spawn_blocking(call).await.unwrap_or(Then::Cut)
            }
        }
    }
}

/// All that is set in one proxy.
#[derive(Clone, Debug, Default)]
pub(super) struct Traps(Arc<Mutex<Vec<Arc<Set>>>>);

impl Traps {
    pub(super) fn set(&self, point: Point, action: Action) -> Trap {
        let set = Arc::new(Set {
            point,
            action,
            passed: AtomicU32::new(0),
            reached: watch::Sender::new(0),
            ruling: watch::Sender::new(None),
        });
        self.all().push(Arc::clone(&set));
        Trap { set, traps: self.clone() }
    }

    /// Whether anything is set that one of these statements concerns.
    pub(super) fn concern(&self, side: Side, application: &str, statements: &[Executed]) -> bool {
        let traps = self.all();
        statements.iter().any(|executed| traps.iter().any(|set| set.point.means(side, application, executed)))
    }

    /// A statement is at this side: what is set there happens, one after the other.
    pub(super) async fn pass(&self, side: Side, application: &str, executed: &Executed) -> Then {
        let meant: Vec<_> =
            self.all().iter().filter(|set| set.point.means(side, application, executed)).cloned().collect();
        for set in meant {
            let time = set.passed.fetch_add(1, Ordering::SeqCst) + 1;
            if set.point.is_due(time) && set.act().await == Then::Cut {
                return Then::Cut;
            }
        }
        Then::Pass
    }

    fn all(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Set>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Point;

    /// What a test waited for in vain is said as its author would say it.
    #[test]
    fn a_point_is_said_in_words() {
        assert_eq!(Point::after("commit").following("settle_tx").to_string(), "after `commit` following `settle_tx`");
        assert_eq!(Point::before("claim").of("outbox claim").to_string(), "before `claim` of `outbox claim`");
        assert_eq!(Point::before("settle").nth(3).to_string(), "time 3 before `settle`");
        assert_eq!(Point::after("renew").every_time().to_string(), "each time after `renew`");
        assert_eq!(Point::after("renew").nth(2).every_time().to_string(), "each time from time 2 on after `renew`");
    }
}
