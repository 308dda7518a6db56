//! The slot of one execution, and the way of what it comes to: to the settler, and to the loop that gives out the slots.

use std::pin::pin;
use std::sync::Arc;

use outbox_core::JobId;
use outbox_core::transition::Risk;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::Instant;
use tracing::Instrument as _;
use uuid::Uuid;

use super::dispatcher::{Dispatcher, Ended};
use super::in_hand::InHand;
use super::underway::Underway;
use crate::meters::{Came, OfHandler};
use crate::outbox::Outbox;
use crate::step::run::{Execution, Ran, Signals};
use crate::step::run_batch::RunBatch;
use crate::step::settle::Settlement;

/// A slot that comes back when the execution ends, however it ends.
pub(crate) struct Slot {
    pub(crate) handler: usize,
    pub(crate) risk: Risk,
    pub(crate) started: Instant,
    pub(crate) number: usize,
    /// Of how many jobs it is the execution.
    pub(crate) jobs: u32,
    pub(crate) meter: Option<Arc<OfHandler>>,
    /// None once it was told.
    pub(crate) finished: Option<mpsc::UnboundedSender<News>>,
}

/// What an execution tells the loop, by its number.
#[derive(Clone, Copy)]
pub(crate) enum News {
    /// The handler is done, and its outcome waits to be handed over.
    Returned(usize),
    /// The slot is free.
    Ended(usize, Ended),
}

impl Slot {
    /// From here on it is no handler that holds the slot.
    fn returned(&self) {
        let _ = self.finished.as_ref().map(|finished| finished.send(News::Returned(self.number)));
    }

    /// It is over, and who has the news tells them.
    fn end(mut self) -> News {
        self.finished = None;
        self.news()
    }

    fn news(&self) -> News {
        let ran = self.started.elapsed();
        if let Some(meter) = &self.meter {
            meter.ends(ran);
        }
        News::Ended(self.number, Ended { handler: self.handler, risk: self.risk, ran: ran / self.jobs.max(1) })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(finished) = self.finished.take() {
            // The loop is gone only when nobody counts slots any more.
            let _ = finished.send(self.news());
        }
    }
}

/// Where executions report what they came to.
pub(crate) struct Report {
    pub(crate) outbox: Outbox,
    pub(crate) in_hand: Arc<InHand>,
    pub(crate) outcomes: mpsc::Sender<Settlement>,
    pub(crate) signals: Arc<Signals>,
}

impl Report {
    /// Runs one job. The slot is held until its outcome is handed over: a database that does not keep up slows the claims down.
    #[expect(
        clippy::manual_async_fn,
        reason = "an `async fn` would hold its arguments twice, and there is one of these for each job"
    )]
    pub(crate) fn of(&self, slot: Slot, execution: Execution) -> impl Future<Output = News> + Send {
        async move {
            let span = execution.span();
            let ran = {
                let run = pin!(execution.run());
                // To enter a span that nobody hears of costs as much as a quick handler.
                if span.is_disabled() { run.await } else { run.instrument(span).await }
            };
            self.hand_over(&slot, execution.job.key(), ran).await;
            slot.end()
        }
    }

    /// Runs many in one call, and hands over the outcome of each.
    pub(crate) async fn of_batch(self, slot: Slot, batch: RunBatch) {
        let span = batch.span();
        for (job, ran) in batch.run().instrument(span).await {
            self.hand_over(&slot, job, ran).await;
        }
        drop(slot);
    }

    pub(super) async fn hand_over(&self, slot: &Slot, job: (JobId, Uuid), ran: Ran) {
        if let Some(meter) = &slot.meter {
            meter.came(came(&ran));
        }
        match ran {
            Ran::Unsettled(settlement) => {
                let unsent = match self.outcomes.try_send(settlement) {
                    Err(TrySendError::Full(settlement)) => Some(settlement),
                    Ok(()) | Err(TrySendError::Closed(_)) => None,
                };
                if unsent.is_some() || slot.risk == Risk::Alone {
                    // Boxed, because it is seldom, and each execution's task would be so much larger.
                    Box::pin(self.wait(slot, job, unsent)).await;
                }
            }
            Ran::Committed { published } => {
                self.in_hand.settled([job]);
                if published {
                    self.outbox.kick();
                }
            }
            Ran::LeaseLost => {
                self.in_hand.settled([job]);
                tracing::warn!(job = %job.0, refused = "settle_tx", "lease lost: the effect was rolled back, because the job is no longer held under its claim");
            }
        }
    }

    /// No handler holds the slot any more, and it is not free either.
    async fn wait(&self, slot: &Slot, job: (JobId, Uuid), unsent: Option<Settlement>) {
        slot.returned();
        if let Some(settlement) = unsent {
            drop(self.outcomes.send(settlement).await);
        }
        if slot.risk == Risk::Alone {
            // The next one that has to run alone may take the process down, and this one must not be charged for it.
            tokio::select! {
                () = self.in_hand.until_settled(job) => {}
                () = self.signals.kill.cancelled() => {}
            }
        }
    }
}

fn came(ran: &Ran) -> Came {
    match ran {
        Ran::Unsettled(settlement) => Came::of(&settlement.next),
        Ran::Committed { .. } => Came::Succeeded,
        Ran::LeaseLost => Came::Lost,
    }
}

/// Takes in what an execution tells; answers whether a claim is due at once.
pub(crate) fn heard(news: News, underway: &mut Underway, dispatcher: &mut Dispatcher) -> bool {
    match news {
        News::Returned(number) => {
            underway.returned(number);
            false
        }
        News::Ended(number, ended) => {
            underway.ended(number);
            dispatcher.finished(&ended)
        }
    }
}
