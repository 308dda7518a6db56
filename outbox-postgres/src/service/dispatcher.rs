//! What to claim next and what to start next: the jobs that wait in memory and the slots that run them. No I/O.

use std::collections::VecDeque;
use std::sync::Arc;

use outbox_core::slots::Slots;
use outbox_core::transition::Risk;

use super::roster::Roster;
use crate::step::claim::{Claimed, Wanted};

/// A job with its handler's number and the slot's kind, to be given back when it is done.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) handler: usize,
    pub(crate) risk: Risk,
    pub(crate) job: Claimed,
}

#[derive(Debug)]
pub(crate) struct Dispatcher {
    roster: Arc<Roster>,
    blank: Wanted,
    slots: Slots,
    queues: Vec<VecDeque<Claimed>>,
    waiting: u32,
    /// Handlers whose last claim was cut by its limit, so that more is likely there.
    backlog: Vec<bool>,
    turn: usize,
    batch: u32,
    prefetch: u32,
}

impl Dispatcher {
    pub(crate) fn new(roster: Arc<Roster>, slots: Slots, batch: u32, prefetch: u32) -> Self {
        let handlers = roster.len();
        Self {
            blank: roster.blank(),
            roster,
            slots,
            queues: vec![VecDeque::new(); handlers],
            waiting: 0,
            backlog: vec![true; handlers],
            turn: 0,
            batch,
            prefetch,
        }
    }

    /// The next claim; `None` when there is no reason for one, or no room. `due` is a reason; so is a handler with a backlog
    /// that has a free slot, or whose jobs in memory have run low. Takes turns in who comes first.
    pub(crate) fn wanted(&mut self, due: bool) -> Option<Wanted> {
        let room = self.prefetch.saturating_sub(self.waiting);
        let most = (self.slots.free() + room).min(self.batch);
        let low = self.waiting <= self.prefetch / 2;
        let reason = |(handler, more): (usize, &bool)| *more && (self.free_for(handler) > 0 || (low && room > 0));
        if most == 0 || !(due || self.backlog.iter().enumerate().any(reason)) {
            return None;
        }
        let mut wanted = Wanted {
            free_in_all: signed(self.slots.free()),
            crashed_too: self.slots.free_for_crashed(),
            most: signed(most),
            ..self.blank.clone()
        };
        let ranges = self.roster.ranges();
        for place in 0..ranges.len() {
            let range = ranges[(place + self.turn) % ranges.len()];
            let limit = self.limit(range.handler, most, room);
            if limit > 0 {
                wanted.job_types.push(range.job_type);
                wanted.versions.push(range.version);
                wanted.handlers.push(i32::try_from(range.handler).unwrap_or(i32::MAX));
                wanted.limits.push(signed(limit));
                wanted.free.push(signed(self.free_for(range.handler)));
            }
        }
        self.turn = self.turn.wrapping_add(1) % ranges.len().max(1);
        (!wanted.job_types.is_empty()).then_some(wanted)
    }

    /// Slots of a handler that none of its jobs in memory waits for.
    fn free_for(&self, handler: usize) -> u32 {
        self.slots.free_for(handler).saturating_sub(queued(&self.queues[handler]))
    }

    /// How many jobs of a handler to ask for. Without a backlog only what its free slots take, so that looking costs little;
    /// with one also its share of what may wait in memory.
    fn limit(&self, handler: usize, most: u32, room: u32) -> u32 {
        let free = self.free_for(handler);
        if !self.backlog[handler] {
            return free.min(most);
        }
        let busy = u32::try_from(self.backlog.iter().filter(|more| **more).count()).unwrap_or(u32::MAX);
        let share = most.div_ceil(busy.max(1)).max(free);
        (free + room).min(share).min(most)
    }

    /// Takes in what a claim brought, and notes where it was cut short. A claim that filled every free slot was too: jobs that
    /// may only go into a free slot can lie behind it.
    pub(crate) fn accept(&mut self, wanted: &Wanted, jobs: Vec<Claimed>) {
        let mut got = vec![0_i32; self.roster.len()];
        let cut = signed(u32::try_from(jobs.len()).unwrap_or(u32::MAX)) >= wanted.most;
        for job in jobs {
            // Only our own names were claimed, so every job has a handler here.
            if let Some(handler) = self.roster.number_of(&job.job_type) {
                got[handler] += 1;
                match job.risk() {
                    Risk::None => self.queues[handler].push_back(job),
                    // Claimed into a free slot: it must not wait behind others, whose crash it would be charged for.
                    Risk::LastAttempt | Risk::Crashed => self.queues[handler].push_front(job),
                }
                self.waiting += 1;
            }
        }
        for (place, handler) in wanted.handlers.iter().enumerate() {
            let Ok(handler) = usize::try_from(*handler) else { continue };
            let limit = if wanted.free[place] > 0 {
                wanted.free[place].min(wanted.limits[place])
            } else {
                wanted.limits[place]
            };
            self.backlog[handler] = got[handler] > 0 && (got[handler] >= limit || cut);
        }
    }

    /// The next job that has a slot.
    pub(crate) fn start(&mut self) -> Option<Started> {
        for place in 0..self.queues.len() {
            let handler = (place + self.turn) % self.queues.len();
            let Some(risk) = self.queues[handler].front().map(Claimed::risk) else { continue };
            if self.slots.take(handler, risk) {
                self.turn = self.turn.wrapping_add(1);
                self.waiting -= 1;
                let job = self.queues[handler].pop_front();
                return job.map(|job| Started { handler, risk, job });
            }
        }
        None
    }

    /// A started job is done. Answers whether another claim is due at once: jobs that crashed before come one at a time.
    pub(crate) fn finished(&mut self, handler: usize, risk: Risk) -> bool {
        self.slots.give(handler, risk);
        risk == Risk::Crashed
    }

    /// All jobs that were not started.
    pub(crate) fn take_waiting(&mut self) -> Vec<Claimed> {
        self.waiting = 0;
        self.queues.iter_mut().flat_map(std::mem::take).collect()
    }
}

fn queued(queue: &VecDeque<Claimed>) -> u32 {
    u32::try_from(queue.len()).unwrap_or(u32::MAX)
}

fn signed(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
