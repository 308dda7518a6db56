//! Sends the claims, one after the other, on a connection of their own. What one brought is read while the next one is under way.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::floor::{Begin, Floor};
use super::in_hand::InHand;
use crate::backoff::Reconnect;
use crate::error::told;
use crate::lane::{self, Lane, LaneError};
use crate::outbox::Outbox;
use crate::sqlstate::Class;
use crate::step::claim::{Answered, Claimed, Wanted};
use crate::wake::Wake;
use crate::{identity, step};

/// A claim takes milliseconds; one that takes this long waits on a connection that is dead without saying so.
const CLAIM_LIMIT: Duration = Duration::from_secs(3);

/// What a claim came to.
pub(super) struct Answer {
    pub(super) asked: Wanted,
    pub(super) jobs: Vec<Claimed>,
}

pub(super) struct Claimer {
    outbox: Outbox,
    worker: Uuid,
    in_hand: Arc<InHand>,
    floor: Arc<Floor>,
    lane: Lane,
    reconnect: Reconnect,
    stop: CancellationToken,
    /// Most jobs of a claim, halved while answers do not arrive in time: large payloads over a slow link.
    most: i32,
}

/// A claim that is over, and not read yet.
struct Unread {
    asked: Wanted,
    begin: Begin,
    /// None where it failed, which has been seen to.
    answered: Option<Answered>,
}

/// Reads what claims brought, and notes what this worker holds from then on.
struct Reader {
    in_hand: Arc<InHand>,
    floor: Arc<Floor>,
    wake: Arc<Wake>,
    claimed: mpsc::Sender<Answer>,
}

impl Claimer {
    pub(super) fn new(
        outbox: &Outbox,
        worker: Uuid,
        floor: &Arc<Floor>,
        in_hand: &Arc<InHand>,
        stop: CancellationToken,
    ) -> Self {
        Self {
            worker,
            in_hand: Arc::clone(in_hand),
            floor: Arc::clone(floor),
            lane: outbox.lane("claim").with_settings(lane::BY_INDEX),
            reconnect: Reconnect::of(outbox, "claim"),
            stop,
            most: i32::MAX,
            outbox: outbox.clone(),
        }
    }

    /// Answers one request after the other, until nobody asks any more.
    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<Wanted>, claimed: mpsc::Sender<Answer>) {
        let reader = Reader {
            in_hand: Arc::clone(&self.in_hand),
            floor: Arc::clone(&self.floor),
            wake: Arc::clone(&self.outbox.inner().wake),
            claimed,
        };
        while let Some(wanted) = requests.recv().await {
            if self.stop.is_cancelled() {
                // Whoever waits for an answer ends with the requests.
                continue;
            }
            let mut unread = self.claim(wanted).await;
            while !self.stop.is_cancelled()
                && let Ok(wanted) = requests.try_recv()
            {
                // It is sent before the last one is read, where the connection is ours and has sent one before.
                (unread, ()) = tokio::join!(biased; self.claim(wanted), reader.read(unread));
            }
            reader.read(unread).await;
        }
        self.lane.close().await;
    }

    /// An error is waited out here and answered as nothing found: the loop asks again.
    async fn claim(&mut self, wanted: Wanted) -> Unread {
        // What it asked for, which can be less than was wanted, tells how to read how much came.
        let mut asked = wanted.at_most(self.most);
        let begin = self.floor.of(&asked.ranges);
        asked.floors.clone_from(&begin.floors);
        let claim_id = identity::random();
        self.in_hand.claiming(claim_id);
        let answered = match self.ask(claim_id, &asked).await {
            Ok(answered) => {
                self.reconnect.succeeded();
                self.outbox.vitals().claimed();
                // Only a full answer tells that more would have come through; an empty one tells nothing.
                if i32::try_from(answered.len()).is_ok_and(|jobs| jobs >= asked.most) {
                    self.most = self.most.saturating_mul(2);
                }
                Some(answered)
            }
            Err(error) => {
                self.failed(&error, claim_id, &asked).await;
                None
            }
        };
        self.outbox.inner().wake.claimed();
        Unread { asked, begin, answered }
    }

    async fn failed(&mut self, error: &LaneError, claim_id: Uuid, wanted: &Wanted) {
        match error.class() {
            // It may have taken place all the same.
            Class::Connection => self.in_hand.claim_lost(claim_id),
            Class::Conflict | Class::Locked | Class::Setup | Class::Refused => self.in_hand.claimed(claim_id, []),
        }
        if matches!(error, LaneError::Deadline(_)) {
            self.most = (wanted.most / 2).max(1);
            self.floor.timed_out();
        }
        if error.class() != Class::Conflict {
            self.reconnect.failed(error, &self.stop).await;
        }
        self.outbox.inner().wake.local.notify_one();
    }

    async fn ask(&mut self, claim_id: Uuid, wanted: &Wanted) -> Result<Answered, LaneError> {
        let (statements, worker) = (self.outbox.statements(), self.worker);
        let claim =
            async |connection: &mut _| step::claim::claim(connection, statements, worker, claim_id, wanted).await;
        self.lane.run(CLAIM_LIMIT, claim).await
    }
}

impl Reader {
    async fn read(&self, unread: Unread) {
        let jobs = unread.answered.as_ref().map_or_else(Vec::new, |answered| self.jobs(&unread, answered));
        // The loop is gone only when it panicked.
        let _ = self.claimed.send(Answer { asked: unread.asked, jobs }).await;
    }

    fn jobs(&self, unread: &Unread, answered: &Answered) -> Vec<Claimed> {
        match answered.read(&unread.asked) {
            Ok(jobs) => {
                self.in_hand.claimed(answered.claim_id(), jobs.iter().map(Claimed::key));
                self.floor.claimed(&unread.begin, answered.took(), jobs.len(), &unread.asked.drained(&jobs));
                jobs
            }
            Err(error) => {
                // They are held all the same, and are looked for among what this worker holds.
                self.in_hand.claim_lost(answered.claim_id());
                self.wake.local.notify_one();
                let error = LaneError::from(error);
                tracing::error!(error = told(&error), "the answer to a claim cannot be read");
                Vec::new()
            }
        }
    }
}
