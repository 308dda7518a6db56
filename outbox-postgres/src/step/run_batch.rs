//! run, for a handler that takes a batch: the jobs of one call, each of which comes to an outcome of its own.

use std::time::Instant;

use outbox_core::batch::BatchOutcomes;
use outbox_core::transition::Next;
use outbox_core::{Delivery, Item, JobId};
use tracing::Span;
use uuid::Uuid;

use super::run::{Execution, Ran};
use super::settle::Settlement;
use crate::executing::Executing;
use crate::scope::Scope;

/// Executions of one handler that are one call; at least one.
#[derive(Debug)]
pub(crate) struct RunBatch(pub(crate) Vec<Execution>);

impl RunBatch {
    /// What is logged and traced while they run: of which handler, and how many. Which message each item is, its envelope says.
    pub(crate) fn span(&self) -> Span {
        tracing::info_span!("executions", handler = self.0.first().map(|one| one.handler.name), jobs = self.0.len())
    }

    /// Runs them, and answers what each came to. Never panics, whatever the handler does.
    pub(crate) async fn run(self) -> Vec<((JobId, Uuid), Ran)> {
        let started = Instant::now();
        let mut all = Vec::with_capacity(self.0.len());
        let (mut called, mut under_way) = (Vec::with_capacity(self.0.len()), Vec::with_capacity(self.0.len()));
        for one in self.0 {
            let Some(begun) = Executing::begin(&one.outbox, one.job.job_id) else {
                all.push((one.job.key(), one.put_off(started)));
                continue;
            };
            if let Some(ran) = one.without_a_call(started) {
                all.push((one.job.key(), ran));
                continue;
            }
            called.push(one);
            under_way.push(begun);
        }
        all.extend(call(&called, started).await);
        all
    }
}

/// One call for all of them. What was said of one of them counts, however the call ended; the others come to what it ended with.
async fn call(called: &[Execution], started: Instant) -> Vec<((JobId, Uuid), Ran)> {
    let Some(first) = called.first() else { return Vec::new() };
    let items: Vec<Item> = called.iter().map(Execution::item).collect();
    let outcomes = BatchOutcomes::of(items.len());
    let delivery = Delivery::new(&items, first.outbox.state(), &first.signals.lent).with_outcomes(&outcomes);
    let ended = first.end_of(&Scope::of_batch(first.outbox.clone()), delivery).await;
    let said = outcomes.close();
    let came_to = called.iter().zip(said).map(|(one, said)| {
        let ran = match said {
            Some(outcome) => one.returned(&outcome, started),
            None => one.ended(&ended, started),
        };
        (one.job.key(), ran)
    });
    let came_to: Vec<_> = came_to.collect();
    tell_of_those_put_off(first.handler.name, &came_to);
    came_to
}

/// One line for all of them: where what they need is away, that is all of many batches.
fn tell_of_those_put_off(handler: &str, came_to: &[((JobId, Uuid), Ran)]) {
    let put_off = came_to.iter().filter_map(|(_, ran)| match ran {
        Ran::Unsettled(Settlement { next: Next::Snooze(delay), error: Some(error), .. }) => Some((*delay, error)),
        _ => None,
    });
    let Some((delay, error)) = put_off.clone().max_by_key(|(delay, _)| *delay) else { return };
    let jobs = put_off.count();
    tracing::info!(handler, jobs, error, "jobs of a batch are put off for up to {delay:.1?}, and charged nothing");
}
