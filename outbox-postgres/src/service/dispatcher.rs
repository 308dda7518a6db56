//! What to claim next and what to start next: the jobs that wait in memory and the slots that run them. No I/O.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use outbox_core::slots::Slots;
use outbox_core::transition::Risk;

use super::pace::Pace;
use super::roster::Roster;
use super::shares::Shares;
use crate::step::claim::{Claimed, Wanted};

/// A job with its handler's number and the slot's kind, to be given back when it is done; and those that share its call.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) handler: usize,
    pub(crate) risk: Risk,
    pub(crate) job: Claimed,
    /// Empty for a handler that takes no batch.
    pub(crate) company: Vec<Claimed>,
}

/// A started execution that is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) handler: usize,
    pub(crate) risk: Risk,
    /// For each of its jobs.
    pub(crate) ran: Duration,
}

/// What a claim that is not read yet may bring.
#[derive(Debug)]
struct Asked {
    most: u32,
    /// Of each handler.
    limits: Vec<u32>,
}

#[derive(Debug)]
pub(crate) struct Dispatcher {
    roster: Arc<Roster>,
    blank: Wanted,
    slots: Slots,
    queues: Vec<VecDeque<Claimed>>,
    paces: Vec<Pace>,
    /// Most jobs of one call of each handler.
    batches: Vec<u32>,
    waiting: u32,
    /// How many of those must not wait: they have been claimed into free slots.
    pressing: u32,
    /// Handlers whose last claim was cut by its limit, so that more is likely there.
    backlog: Vec<bool>,
    /// Handlers of which the last claim brought jobs that may wait in memory.
    ahead: Vec<bool>,
    /// Who comes first in the next claim, and in the next start: two, or they would go in step.
    claim_turn: usize,
    shares: Shares,
    turn: usize,
    batch: u32,
    prefetch: u32,
    /// Claims that are not read yet, the earlier one first.
    asked: VecDeque<Asked>,
    /// How many claims in a row were behind another.
    behind: u32,
}

impl Dispatcher {
    pub(crate) fn new(roster: Arc<Roster>, slots: Slots, batch: u32, prefetch: u32) -> Self {
        let handlers = roster.len();
        Self {
            blank: roster.blank(),
            batches: (0..handlers).map(|handler| roster.batch(handler)).collect(),
            roster,
            slots,
            queues: vec![VecDeque::new(); handlers],
            paces: vec![Pace::default(); handlers],
            waiting: 0,
            pressing: 0,
            backlog: vec![true; handlers],
            ahead: vec![false; handlers],
            claim_turn: 0,
            shares: Shares::default(),
            turn: 0,
            batch,
            prefetch,
            asked: VecDeque::new(),
            behind: 0,
        }
    }

    /// Whether no claim is under way.
    pub(crate) fn asks_nothing(&self) -> bool {
        self.asked.is_empty()
    }

    /// The next claim; `None` while one is under way, and when there is no reason for one, or no room. `due` is a reason; so is a handler
    /// with a backlog that has a free slot, or whose jobs in memory have run low. Takes turns in who comes first.
    pub(crate) fn wanted(&mut self, due: bool) -> Option<Wanted> {
        if !self.asks_nothing() {
            return None;
        }
        let room = self.prefetch.saturating_sub(self.waiting);
        let most = self.slots.free().saturating_add(self.in_company()).saturating_add(room).min(self.batch);
        if most == 0 || !(due || (0..self.queues.len()).any(|handler| self.runs_dry(handler, room))) {
            return None;
        }
        self.behind = 0;
        let mut wanted = Wanted {
            free_in_all: signed(self.slots.free()),
            crashed_too: self.slots.free_for_crashed(),
            ..self.blank.clone()
        };
        let limits = self.limits(most, room);
        self.fill_in(&mut wanted, most, &limits);
        for handler in &wanted.handlers {
            let handler = usize::try_from(*handler).unwrap_or(usize::MAX);
            let (_, module_free) = self.slots.module_of(handler);
            wanted.free.push(signed(self.free_for(handler)));
            wanted.module_free.push(signed(module_free));
        }
        self.send(wanted, most, limits)
    }

    /// Fills in the ranges and limits of the next claim.
    fn fill_in(&mut self, wanted: &mut Wanted, most: u32, limits: &[u32]) {
        wanted.most = signed(most);
        let ranges = self.roster.ranges();
        for place in 0..ranges.len() {
            let number = (place + self.claim_turn) % ranges.len();
            let range = ranges[number];
            let limit = limits[range.handler];
            if limit > 0 {
                wanted.ranges.push(number);
                wanted.job_types.push(range.job_type);
                wanted.versions.push(range.version);
                wanted.handlers.push(i32::try_from(range.handler).unwrap_or(i32::MAX));
                wanted.limits.push(signed(limit));
                let (module, _) = self.slots.module_of(range.handler);
                wanted.modules.push(i32::try_from(module).unwrap_or(i32::MAX));
            }
        }
        self.claim_turn = (self.claim_turn + 1) % ranges.len().max(1);
    }

    /// It is under way from here on, unless it asks for nothing.
    fn send(&mut self, wanted: Wanted, most: u32, limits: Vec<u32>) -> Option<Wanted> {
        if wanted.job_types.is_empty() {
            return None;
        }
        self.asked.push_back(Asked { most, limits });
        Some(wanted)
    }

    /// Whether a handler with a backlog has a free slot, or is about to.
    fn runs_dry(&self, handler: usize, room: u32) -> bool {
        let low = queued(&self.queues[handler]) <= self.ahead(handler).min(self.prefetch) / 2;
        self.backlog[handler]
            && (self.free_for(handler) > 0 || (self.ahead[handler] && low && self.room_for(handler, room) > 0))
    }

    /// Slots of a handler that none of its jobs in memory waits for.
    fn free_for(&self, handler: usize) -> u32 {
        self.slots.free_for(handler).saturating_sub(queued(&self.queues[handler]).div_ceil(self.batches[handler]))
    }

    /// How many jobs those slots take, with those that are in memory in the same calls.
    fn free_jobs(&self, handler: usize) -> u32 {
        self.slots.free_for(handler).saturating_mul(self.batches[handler]).saturating_sub(queued(&self.queues[handler]))
    }

    /// How many jobs more than slots can start now, because they share calls.
    fn in_company(&self) -> u32 {
        let more = |handler| self.free_jobs(handler).saturating_sub(self.free_for(handler));
        (0..self.batches.len()).filter(|handler| self.batches[*handler] > 1).map(more).fold(0, u32::saturating_add)
    }

    /// How many jobs of a handler may wait in memory.
    fn ahead(&self, handler: usize) -> u32 {
        if self.roster.handler(handler).settings.parks {
            return 0;
        }
        self.paces[handler].ahead(self.slots.most_for(handler))
    }

    /// How many more of them, with `room` for all handlers together.
    fn room_for(&self, handler: usize, room: u32) -> u32 {
        room.min(self.ahead(handler).saturating_sub(queued(&self.queues[handler])))
    }

    /// How many jobs of each handler to ask for.
    fn limits(&mut self, most: u32, room: u32) -> Vec<u32> {
        let mut limits: Vec<u32> = (0..self.queues.len()).map(|handler| self.limit(handler, room).min(most)).collect();
        self.shares.divide(&mut limits, &self.backlog, most);
        limits
    }

    /// How many jobs of a handler there is room for. Without a backlog only what its free slots take, so that looking costs little;
    /// with one also what may wait in memory.
    fn limit(&self, handler: usize, room: u32) -> u32 {
        let free = self.free_jobs(handler);
        // With no slot free, only jobs that may wait are looked for: where the last look found none, they lie far behind.
        if self.backlog[handler] && (self.ahead[handler] || free > 0) {
            free.saturating_add(self.room_for(handler, room))
        } else {
            free
        }
    }

    /// Takes in what a claim brought, and notes where it was cut short. A claim that filled every free slot was too: jobs that
    /// may only go into a free slot can lie behind it.
    pub(crate) fn accept(&mut self, wanted: &Wanted, jobs: Vec<Claimed>) {
        self.asked.pop_front();
        let mut got = vec![0_i32; self.roster.len()];
        let mut patient = vec![0_i32; self.roster.len()];
        let cut = signed(u32::try_from(jobs.len()).unwrap_or(u32::MAX)) >= wanted.most;
        for job in jobs {
            // Only our own names were claimed, so every job has a handler here.
            if let Some(handler) = self.roster.number_of(job.job_type) {
                got[handler] += 1;
                patient[handler] += i32::from(job.risk == Risk::None);
                self.pressing += u32::from(job.risk != Risk::None);
                match job.risk {
                    Risk::None => self.queues[handler].push_back(job),
                    // Claimed into a free slot: it must not wait behind others, whose crash it would be charged for.
                    Risk::Exposed | Risk::Alone => self.queues[handler].push_front(job),
                }
                self.waiting += 1;
            }
        }
        for (place, handler) in wanted.handlers.iter().enumerate() {
            let Ok(handler) = usize::try_from(*handler) else { continue };
            // Each of those takes a slot; of a handler that takes a batch, the others share some.
            let singly = if self.batches[handler] > 1 { got[handler] - patient[handler] } else { got[handler] };
            let filled = wanted.free[place] > 0 && singly >= wanted.free[place];
            let more = got[handler] > 0 && (got[handler] >= wanted.limits[place] || filled || cut);
            self.ahead[handler] = more && patient[handler] > 0;
            // Without a free slot the claim passes over what may not wait, so it says nothing of that.
            if wanted.free[place] > 0 {
                self.backlog[handler] = more;
            }
        }
    }

    /// The next job that has a slot.
    pub(crate) fn start(&mut self) -> Option<Started> {
        // What must not wait first, or another handler's jobs take the slots that it was claimed for.
        let pressing = if self.pressing > 0 { self.start_one(true) } else { None };
        pressing.or_else(|| self.start_one(false))
    }

    fn start_one(&mut self, urgent: bool) -> Option<Started> {
        for place in 0..self.queues.len() {
            let handler = (place + self.turn) % self.queues.len();
            if self.queues[handler].is_empty()
                || self.slots.free_for(handler) == 0
                || urgent && self.queues[handler].front().is_none_or(|job| job.risk == Risk::None)
            {
                continue;
            }
            // A job that has to wait for another that crashed does not hold up those behind it.
            let alone = !self.slots.free_for_crashed();
            let Some(next) = self.queues[handler].iter().position(|job| !(alone && job.risk == Risk::Alone)) else {
                continue;
            };
            let Some(job) = self.queues[handler].remove(next) else { continue };
            let risk = job.risk;
            if self.slots.take(handler, risk) {
                self.turn = self.turn.wrapping_add(1);
                let company = if risk == Risk::None { self.company_of(handler) } else { Vec::new() };
                self.waiting -= 1 + u32::try_from(company.len()).unwrap_or(0);
                self.pressing -= u32::from(risk != Risk::None);
                return Some(Started { handler, risk, job, company });
            }
            self.queues[handler].insert(next, job);
        }
        None
    }

    /// The jobs that share a call with one that was just taken: what is there now, for none is waited for. One that may not wait has a call
    /// of its own, so that it is charged for no other's crash.
    fn company_of(&mut self, handler: usize) -> Vec<Claimed> {
        let (queue, most) = (&mut self.queues[handler], self.batches[handler] as usize - 1);
        let (mut company, mut place) = (Vec::new(), 0);
        while company.len() < most && place < queue.len() {
            if queue[place].risk == Risk::None {
                company.extend(queue.remove(place));
            } else {
                place += 1;
            }
        }
        company
    }

    /// A started execution is done. Answers whether another claim is due at once: jobs that have to run alone come one at a time.
    pub(crate) fn finished(&mut self, ended: &Ended) -> bool {
        self.slots.give(ended.handler, ended.risk);
        self.paces[ended.handler].ran(ended.ran);
        ended.risk == Risk::Alone
    }

    /// Most executions of a handler at once.
    pub(crate) fn most_for(&self, handler: usize) -> u32 {
        self.slots.most_for(handler)
    }

    /// How many jobs of each handler wait in memory.
    pub(crate) fn queued(&self) -> impl Iterator<Item = u32> + '_ {
        self.queues.iter().map(queued)
    }

    /// All jobs that were not started.
    pub(crate) fn take_waiting(&mut self) -> Vec<Claimed> {
        (self.waiting, self.pressing) = (0, 0);
        self.queues.iter_mut().flat_map(std::mem::take).collect()
    }
}

fn queued(queue: &VecDeque<Claimed>) -> u32 {
    u32::try_from(queue.len()).unwrap_or(u32::MAX)
}

fn signed(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

mod behind;
#[cfg(test)]
mod tests;
