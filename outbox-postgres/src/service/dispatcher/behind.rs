//! A claim behind another: asked for while that one is under way, so that their connection never waits for the client to read an answer.
//!
//! It asks only for what can wait in memory, in handlers whose last claim was cut short, and only when a whole batch fits there beside all that is in memory
//! and under way. Handlers of which it is not known what they have are looked at by claims of the first kind, and so is what only a free slot
//! can take: one comes after a few of these, as soon as anything is due, and where a handler has slots and jobs that may not wait.

use super::{Dispatcher, queued};
use crate::step::claim::Wanted;

/// How many of them follow each other.
const IN_A_ROW: u32 = 8;

impl Dispatcher {
    /// `None` unless one claim is under way and a whole batch is likely to fit behind it.
    pub(crate) fn wanted_behind(&mut self) -> Option<Wanted> {
        let [under_way] = self.asked.make_contiguous() else { return None };
        let room = self.prefetch.saturating_sub(self.waiting).saturating_sub(under_way.most);
        if room < self.batch || self.behind >= IN_A_ROW {
            return None;
        }
        let under_way = under_way.limits.clone();
        if (0..self.queues.len()).any(|handler| self.lacks(handler, under_way[handler])) {
            return None;
        }
        let mut limits: Vec<u32> =
            (0..self.queues.len()).map(|handler| self.patient(handler, under_way[handler])).collect();
        if limits.iter().copied().fold(0, u32::saturating_add) < self.batch {
            return None;
        }
        self.shares.divide(&mut limits, &self.backlog, self.batch);
        self.behind += 1;
        // No free slot, so only jobs that may wait are looked for.
        let mut wanted = Wanted { crashed_too: false, ..self.blank.clone() };
        self.fill_in(&mut wanted, self.batch, &limits);
        wanted.free = vec![0; wanted.handlers.len()];
        wanted.module_free = vec![0; wanted.handlers.len()];
        self.send(wanted, self.batch, limits)
    }

    /// Whether a handler with a backlog of jobs that may not wait has slots that the claim under way does not fill.
    fn lacks(&self, handler: usize, under_way: u32) -> bool {
        self.backlog[handler] && !self.ahead[handler] && self.free_for(handler) > under_way
    }

    /// How many more jobs of a handler may wait in memory, beside so many that are under way.
    fn patient(&self, handler: usize, under_way: u32) -> u32 {
        if !(self.backlog[handler] && self.ahead[handler]) {
            return 0;
        }
        let held = queued(&self.queues[handler]).saturating_add(under_way);
        self.ahead(handler).saturating_sub(held).min(self.batch)
    }
}
