//! Looks where claims can begin, on a connection of its own, so that no claim, settle or rescue waits for it. It connects only once a
//! claim was slow, and holds the connection only while claims begin at floors.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::floor::{Floor, MARGIN};
use super::roster::Roster;
use crate::error::told;
use crate::lane::{Lane, LaneError};
use crate::outbox::Outbox;
use crate::step;
use crate::step::look::Seen;

/// A look can pass over millions of rows; the server ends it by then.
const STATEMENT_LIMIT: Duration = Duration::from_secs(10);

pub(crate) struct Lookout {
    pub(crate) outbox: Outbox,
    pub(crate) roster: Arc<Roster>,
    pub(crate) floor: Arc<Floor>,
    pub(crate) stop: CancellationToken,
}

impl Lookout {
    pub(crate) async fn run(self) {
        let mut lane = None;
        let mut alarm = Alarm::default();
        loop {
            tokio::select! {
                () = self.stop.cancelled() => break,
                () = self.until_due() => {}
            }
            let stood = self.floor.stands();
            let looking = lane.get_or_insert_with(|| self.outbox.lane("look"));
            tokio::select! {
                () = self.stop.cancelled() => break,
                () = self.look(looking) => {}
            }
            match alarm.looked(stood, self.floor.stands()) {
                Some(Word::Begins) => tracing::warn!(
                    "claims pass over many dead rows, which a long transaction or a slow vacuum keeps: from now on they begin behind \
                     them, and a job that appears there is found a little later"
                ),
                Some(Word::Ends) => tracing::info!("claims begin at the head again"),
                None => {}
            }
            if !self.floor.stands()
                && let Some(lane) = lane.take()
            {
                lane.close().await;
            }
        }
        if let Some(lane) = lane {
            lane.close().await;
        }
    }

    async fn until_due(&self) {
        loop {
            match self.floor.due() {
                Some(due) => return sleep_until(Instant::from_std(due)).await,
                None => self.floor.until_suspected().await,
            }
        }
    }

    async fn look(&self, lane: &mut Lane) {
        let asked = Instant::now();
        match self.ask(lane).await {
            Ok(seen) => {
                if self.floor.looked(seen) {
                    self.outbox.inner().wake.local.notify_one();
                }
            }
            // Claims begin at the head again, unless one comes through in time.
            Err(error) => {
                tracing::debug!(error = told(&error), "no look at where claims can begin");
                self.floor.look_failed(asked.elapsed());
            }
        }
    }

    async fn ask(&self, lane: &mut Lane) -> Result<Seen, LaneError> {
        let statements = self.outbox.statements();
        let (names, versions) = self.roster.pairs();
        let look =
            async |connection: &mut _| step::look::look(connection, statements, (&names, &versions), MARGIN).await;
        lane.run(STATEMENT_LIMIT, look).await
    }
}

/// When somebody is told of a floor. Not at the look that first finds it: where the machine was slow for a moment, it is gone at the next.
#[derive(Debug, Default)]
struct Alarm {
    raised: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Word {
    Begins,
    Ends,
}

impl Alarm {
    /// A look was made at which a floor stood before, and stands now.
    fn looked(&mut self, stood: bool, stands: bool) -> Option<Word> {
        match (stood, stands) {
            (true, true) if !self.raised => {
                self.raised = true;
                Some(Word::Begins)
            }
            (_, false) if self.raised => {
                self.raised = false;
                Some(Word::Ends)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine that is slow for a moment is no reason to look for a forgotten transaction.
    #[test]
    fn a_floor_that_is_gone_at_the_next_look_is_not_told_of() {
        let mut alarm = Alarm::default();
        assert_eq!([alarm.looked(false, true), alarm.looked(true, false)], [None, None]);
        assert_eq!([alarm.looked(false, true), alarm.looked(true, false)], [None, None]);
    }

    #[test]
    fn a_floor_that_stays_is_told_of_once_and_so_is_its_end() {
        let mut alarm = Alarm::default();
        assert_eq!([alarm.looked(false, true), alarm.looked(true, true)], [None, Some(Word::Begins)]);
        assert_eq!([alarm.looked(true, true), alarm.looked(true, false)], [None, Some(Word::Ends)]);
        assert_eq!(alarm.looked(false, false), None);
    }
}
