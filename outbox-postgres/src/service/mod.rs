//! When things happen: one loop a service, each calling the steps of its verbs; no SQL.

mod claimer;
mod cleaner;
mod crew;
mod dead_rows;
mod dispatcher;
mod drain;
mod epoch;
pub(crate) mod feed;
mod floor;
mod in_hand;
mod lease_keeper;
mod listener;
mod lookout;
mod pace;
mod roster;
mod run_due;
mod scheduler;
mod settler;
mod shares;
mod slot;
mod succession;
mod underway;
mod upkeep;
mod worker;

use std::sync::atomic::Ordering;

use tokio_util::sync::CancellationToken;

pub(crate) use self::drain::drain;
pub use self::drain::{DrainError, Drained};
pub(crate) use self::roster::Roster;
pub(crate) use self::run_due::run_due;
pub use self::run_due::{Executed, RanDue};
use crate::error::RunError;
use crate::health::Stage;
use crate::outbox::Outbox;

/// Runs one epoch behind the other: a worker whose lease was lost begins again under a new id.
pub(crate) async fn run(outbox: &Outbox, shutdown: impl Future<Output = ()>) -> Result<(), RunError> {
    let _running = Running::claim(outbox)?;
    let _stage = Staged::enter(outbox);
    outbox.inner().live.reopen();
    // Fires when the shutdown is asked for, and when this future is dropped.
    let stop = CancellationToken::new();
    let _stop_on_drop = stop.clone().drop_guard();
    let epochs = async {
        while !stop.is_cancelled() {
            epoch::run(outbox, &stop).await?;
        }
        Ok(())
    };
    tokio::pin!(epochs);
    tokio::select! {
        ended = &mut epochs => return ended,
        () = shutdown => {
            outbox.vitals().enter(Stage::Stopping);
            // A server that shuts down waits for its open responses.
            outbox.live().close();
            stop.cancel();
        }
    }
    epochs.await
}

/// For as long as `run` runs, in whatever way it ends.
struct Staged<'a>(&'a Outbox);

impl<'a> Staged<'a> {
    fn enter(outbox: &'a Outbox) -> Self {
        outbox.vitals().enter(Stage::Starting);
        Self(outbox)
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        self.0.vitals().enter(Stage::Ended);
    }
}

/// At most one `run` or `drain` at a time in one outbox.
struct Running<'a>(&'a Outbox);

impl<'a> Running<'a> {
    fn claim(outbox: &'a Outbox) -> Result<Self, RunError> {
        if Roster::of(outbox).is_empty() {
            return Err(RunError::NoHandlers);
        }
        if outbox.inner().running.swap(true, Ordering::AcqRel) {
            return Err(RunError::AlreadyRunning);
        }
        Ok(Self(outbox))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.inner().running.store(false, Ordering::Release);
    }
}
