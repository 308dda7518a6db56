//! Everything that can happen next in a world.

use std::time::Duration;

use outbox_core::slots::{Limit, Slots};
use outbox_core::transition::{self, Answer, Counts, JobState, Next, Reason, Risk};
use outbox_core::{Outcome, Verdict};

use crate::mirror::{self, Room, Standing};
use crate::rules::{Rules, Size};
use crate::world::{Hold, Job, Mode, PROCESSES, Phase, Process, World};

/// Whose doing a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The engine's and the machines' ordinary course: what may be relied on to happen sooner or later.
    Course,
    /// A fault, or an operator: may happen, and nobody may rely on it.
    Chance,
}

pub struct Step {
    pub by: By,
    pub name: &'static str,
    pub world: World,
}

/// Takes every step that `world` allows.
pub struct Steps<'a> {
    world: &'a World,
    rules: &'a Rules,
    size: Size,
    taken: Vec<Step>,
}

pub fn steps(world: &World, rules: &Rules, size: Size) -> Vec<Step> {
    let mut steps = Steps { world, rules, size, taken: Vec::new() };
    for p in 0..PROCESSES {
        steps.of_process(p);
    }
    for row in &world.rows {
        steps.of_row(*row);
    }
    for j in 0..world.jobs.len() {
        steps.of_operator(j);
    }
    steps.taken
}

fn happens_quietly(by: By, name: &str) -> bool {
    match by {
        By::Course => !matches!(name, "snoozes" | "discards"),
        By::Chance => name == DIES,
    }
}

const TIMES_OUT: &str = "times out";
const DIES: &str = "takes its process down";

fn failed(verdict: Verdict) -> Outcome {
    Outcome::Failed { verdict, error: String::new() }
}

impl Steps<'_> {
    fn add(&mut self, by: By, name: &'static str, change: impl FnOnce(&mut World)) {
        if self.size.quiet && !happens_quietly(by, name) {
            return;
        }
        let mut world = self.world.clone();
        change(&mut world);
        let world = world.canonical();
        if world != *self.world {
            self.taken.push(Step { by, name, world });
        }
    }

    fn of_process(&mut self, p: usize) {
        let process = self.world.processes[p];
        match process.mode {
            Mode::Frozen => {
                let expired = self.world.standing(process.id) != Some(Standing::Alive);
                let mode = if expired { Mode::Zombie } else { Mode::Awake };
                self.add(By::Course, "thaw", |world| world.processes[p].mode = mode);
            }
            Mode::Awake | Mode::Zombie => self.of_acting(p, process),
        }
    }

    fn of_acting(&mut self, p: usize, process: Process) {
        // A process that holds nothing, in hand or in the database, differs in nothing from one that has just begun.
        if process.holds.iter().any(Option::is_some) || self.world.holds_something(process.id) {
            self.add(By::Chance, "freeze", |world| world.processes[p].mode = Mode::Frozen);
            self.add(By::Chance, "killed", |world| start(world, p));
            if process.mode == Mode::Awake {
                self.add(By::Chance, "lease lost", |world| lost(world, p));
                self.add(By::Chance, "shut down", shut_down(p, *self.rules, self.size));
            }
        }
        if process.mode == Mode::Zombie {
            self.add(By::Course, "notice", |world| start(world, p));
        }
        self.add(By::Course, "rescue", rescue(*self.rules, self.size));
        for j in 0..self.world.jobs.len() {
            self.claim(p, j, process);
            self.recover(j, process);
            if let Some(hold) = process.holds[j] {
                self.of_hold(p, j, hold, process);
            }
        }
    }

    /// The slots of a process, with those taken that its running jobs take, and one that crashed before until its outcome is
    /// written.
    fn slots(&self, process: Process) -> Slots {
        let slots = self.size.slots;
        let mut all = Slots::new(slots, &[slots], &[Limit { module: 0, concurrency: slots }]);
        for hold in process.holds.iter().flatten().filter(|hold| self.takes_a_slot(**hold)) {
            assert!(all.take(0, self.risk_of(*hold)), "more runs than there are slots");
        }
        all
    }

    fn takes_a_slot(&self, hold: Hold) -> bool {
        match hold.phase {
            Phase::Waiting => false,
            Phase::Running => true,
            Phase::Settling(_) => self.risk_of(hold) == Risk::Alone,
        }
    }

    fn risk_of(&self, hold: Hold) -> Risk {
        let attempts = u32::from(hold.counts.0).saturating_sub(1);
        let before = Counts { attempts, max_attempts: self.size.max_attempts, crashes: hold.counts.1.into() };
        self.risk(before)
    }

    /// One whose handler parks does not wait in memory, where its worker's end would leave it open although nobody called it.
    fn risk(&self, before: Counts) -> Risk {
        match (self.rules.risk)(before, self.size.crash_limit) {
            Risk::None if self.size.parks => Risk::Exposed,
            risk => risk,
        }
    }

    fn claim(&mut self, p: usize, j: usize, process: Process) {
        let (job, id) = (self.world.jobs[j], process.id);
        let slots = self.slots(process);
        let room = Room { free: slots.free_for(0) > 0, crashed_too: slots.free_for_crashed(), crash_limit: 3 };
        let before = job.counts(self.size.max_attempts);
        // The rule that is taken out in a test decides too, so that the statement is changed with it.
        let risk = self.risk(before);
        let judged = match risk {
            Risk::None => Counts { attempts: 0, max_attempts: 9, crashes: 0 },
            Risk::Exposed => Counts { attempts: 0, max_attempts: 1, crashes: 0 },
            Risk::Alone => Counts { attempts: 0, max_attempts: 9, crashes: 2 },
        };
        let claimed = mirror::is_claimed(self.world.standing(id), job.state, true, judged, room);
        if !claimed || process.holds[j].is_some() {
            return;
        }
        let (rules, transactional, parks) = (*self.rules, self.size.transactional, self.size.parks);
        let hold = move |world: &mut World| {
            let claim = world.fresh_claim();
            let job = &mut world.jobs[j];
            *job = Job {
                state: JobState::Running,
                claim: Some(claim),
                locked_by: Some(id),
                attempts: job.attempts + 1,
                ..*job
            };
            let counts = (u8::try_from(job.attempts).unwrap_or(0), job.crashes);
            let phase = if rules.marks && transactional && job.marked {
                Phase::Settling(Next::Succeeded(Some(Reason::Duplicate)))
            } else if risk == Risk::None {
                Phase::Waiting
            } else {
                job.open += u8::from(parks);
                Phase::Running
            };
            Hold { claim, counts, phase, known: false }
        };
        self.add(By::Course, "claim", |world| world.processes[p].holds[j] = Some(hold(world)));
        self.add(By::Chance, "claim, its answer lost", |world| {
            hold(world);
            // Nobody runs it.
            world.jobs[j].open = job.open;
        });
    }

    /// Gives back what stands as held by this worker and is not in hand, and takes back what nobody holds.
    fn recover(&mut self, j: usize, process: Process) {
        let (job, me) = (self.world.jobs[j], process.id);
        let shown = mirror::is_shown_as_held(job.state, job.locked_by, &me);
        let in_hand = process.holds[j].is_some_and(|hold| Some(hold.claim) == job.claim);
        if self.rules.recovers && shown && !(in_hand && self.rules.knows_what_is_in_hand) {
            let refund = self.rules.refund;
            self.add(By::Course, "recover", |world| returned(&mut world.jobs[j], refund));
        }
        let holder = job.locked_by.and_then(|id| self.world.standing(id));
        if self.rules.recovers_the_rowless && mirror::is_held_by_nobody(job.state, holder) {
            let (rules, size) = (*self.rules, self.size);
            self.add(By::Course, "recover a rowless worker's", move |world| {
                let in_doubt = is_in_doubt(world, &world.jobs[j]);
                take_back(&mut world.jobs[j], rules, size, in_doubt);
            });
        }
    }

    fn of_hold(&mut self, p: usize, j: usize, hold: Hold, process: Process) {
        match hold.phase {
            Phase::Waiting => {
                if self.slots(process).take(0, self.risk_of(hold)) {
                    let parks = self.size.parks;
                    self.add(By::Course, "run", |world| {
                        world.jobs[j].open += u8::from(parks);
                        phase(world, p, j, Phase::Running);
                    });
                }
            }
            Phase::Running => self.of_running(p, j, hold),
            Phase::Settling(next) => {
                let (rules, size) = (*self.rules, self.size);
                self.add(By::Course, "settle", |world| {
                    write(&mut world.jobs[j], &hold, next, rules, size);
                    world.processes[p].holds[j] = None;
                });
                self.add(By::Chance, "settle, its answer lost", |world| {
                    write(&mut world.jobs[j], &hold, next, rules, size);
                });
            }
        }
    }

    fn of_running(&mut self, p: usize, j: usize, hold: Hold) {
        let counts = Counts {
            attempts: hold.counts.0.into(),
            max_attempts: self.size.max_attempts,
            crashes: hold.counts.1.into(),
        };
        let (rules, size) = (*self.rules, self.size);
        let outcomes = [
            ("fails", failed(Verdict::Retry)),
            (TIMES_OUT, failed((rules.broken_off)(size.parks))),
            ("snoozes", failed(Verdict::Snooze(Duration::ZERO))),
            // Whose settling succeeds, and fails, whatever the counts.
            ("discards", failed(Verdict::Discard)),
            ("quarantines", failed(Verdict::Quarantine)),
        ];
        for (name, outcome) in outcomes {
            let next = bare((rules.settle)(counts, &outcome));
            let known = size.parks && name != TIMES_OUT;
            self.add(By::Course, name, |world| {
                phase(world, p, j, Phase::Settling(next));
                world.processes[p].holds[j].iter_mut().for_each(|hold| hold.known = known);
            });
        }
        // Of one without the transaction, to be done is to be discarded but for the reason.
        if self.size.transactional {
            self.commit(p, j, hold, counts);
        }
        self.add(By::Chance, DIES, |world| {
            world.jobs[j].deaths += 1;
            for (other, held) in world.processes[p].holds.into_iter().enumerate().take(world.jobs.len()) {
                let job = world.jobs[other];
                let beside = other != j && held.is_some_and(|held| (rules.is_accepted)(&job, &held));
                // What a rescue is going to make of it.
                let in_doubt = is_in_doubt(world, &job);
                let next = (rules.rescue)(job.counts(size.max_attempts), size.crash_limit, in_doubt, size.parks);
                if beside && next != Next::Return {
                    world.jobs[other].blamed += 1;
                }
            }
            start(world, p);
        });
    }

    /// Effect, mark and completion are one commit.
    fn commit(&mut self, p: usize, j: usize, hold: Hold, counts: Counts) {
        let (rules, job) = (*self.rules, self.world.jobs[j]);
        if !(rules.commit_is_accepted)(&job, &hold) {
            self.add(By::Course, "commit refused", |world| world.processes[p].holds[j] = None);
            return;
        }
        if rules.marks && job.marked {
            let next = Next::Succeeded(Some(Reason::Duplicate));
            self.add(By::Course, "commit refused, its mark is there", |world| {
                phase(world, p, j, Phase::Settling(next));
            });
            return;
        }
        let committed = |world: &mut World| {
            let job = &mut world.jobs[j];
            job.effects += 1;
            job.completions += 1;
            job.marked = true;
            end(job, JobState::Succeeded, None);
        };
        self.add(By::Course, "commit", |world| {
            committed(world);
            world.processes[p].holds[j] = None;
        });
        // The process takes it for a failure, and settles it so.
        let next = bare((rules.settle)(counts, &failed(Verdict::Retry)));
        self.add(By::Chance, "commit, its answer lost", |world| {
            committed(world);
            phase(world, p, j, Phase::Settling(next));
        });
    }

    fn of_row(&mut self, (id, standing): (u8, Standing)) {
        let owner = self.world.processes.iter().find(|process| process.id == id);
        let acts = owner.is_some_and(|owner| owner.mode == Mode::Awake);
        if standing == Standing::Alive && !(acts && self.rules.stops_in_time) {
            self.add(By::Course, "lease ends", |world| world.stand(id, Standing::Expired));
        }
        if (self.rules.is_buried)(standing, self.world.holds_something(id)) {
            self.add(By::Course, "bury", |world| world.rows.retain(|row| row.0 != id));
        }
        // Jobs that an earlier round of the rescue had to pass over are taken by this one.
        if standing == Standing::Dead && self.world.holds_something(id) {
            self.add(By::Course, "rescue again", rescue(*self.rules, self.size));
        }
        if self.world.rows_deleted < self.size.rows_deleted {
            self.add(By::Chance, "somebody deletes a worker's row", |world| {
                world.rows.retain(|row| row.0 != id);
                world.rows_deleted += 1;
            });
        }
    }

    fn of_operator(&mut self, j: usize) {
        let job = self.world.jobs[j];
        if (self.rules.is_cancelled)(job.state) {
            let parks = self.size.parks && self.rules.parks_at_cancel && job.state == JobState::Running;
            let reason = if parks { Reason::Unknown } else { Reason::Cancelled };
            self.add(By::Chance, "cancel", |world| end(&mut world.jobs[j], JobState::Failed, Some(reason)));
        }
        if (self.rules.is_answered)(job.state, job.reason) && self.size.parks {
            let answered = |answer| match transition::answered(answer) {
                Next::Succeeded(reason) => Job { state: JobState::Succeeded, reason, open: 0, ..job },
                _ => Job { redrives: job.redrives, marked: job.marked, ..Job::NEW },
            };
            self.add(By::Chance, "its owner says that it took effect", |world| {
                world.jobs[j] = answered(Answer::TookEffect);
            });
            // Which has to mean that it will not any more either: nobody is still calling.
            let called = |process: &Process| process.holds[j].is_some_and(|hold| hold.phase == Phase::Running);
            if !self.world.processes.iter().any(called) {
                self.add(By::Chance, "its owner says that it did not", |world| {
                    world.jobs[j] = answered(Answer::DidNot);
                });
            }
        }
        if (self.rules.is_redriven)(job.state, job.reason) && job.redrives < self.size.redrives {
            let resets = self.rules.redrive_resets;
            let new = Job { redrives: job.redrives + 1, marked: job.marked, open: job.open, ..Job::NEW };
            let new = if resets { new } else { Job { attempts: job.attempts, crashes: job.crashes, ..new } };
            self.add(By::Chance, "redrive", |world| world.jobs[j] = new);
            self.add(By::Chance, "redrive by force", |world| world.jobs[j] = Job { marked: false, ..new });
        }
    }
}

/// Delays are left out: whoever waits may be claimed at any time.
fn bare(next: Next) -> Next {
    match next {
        Next::Retry(_) => Next::Retry(Duration::ZERO),
        Next::Snooze(_) => Next::Snooze(Duration::ZERO),
        other => other,
    }
}

fn phase(world: &mut World, p: usize, j: usize, phase: Phase) {
    world.processes[p].holds[j].iter_mut().for_each(|hold| hold.phase = phase);
}

/// A new process, or a new epoch of one, under a new id; whatever was in hand is dropped.
fn start(world: &mut World, p: usize) {
    let id = world.fresh_id();
    world.rows.push((id, Standing::Alive));
    world.processes[p] = Process::new(id);
}

/// It could not renew, and has cancelled everything before its lease ended.
fn lost(world: &mut World, p: usize) {
    world.stand(world.processes[p].id, Standing::Expired);
    start(world, p);
}

/// Everything in hand is given back, what is to be written is written, and the worker's row goes.
fn shut_down(p: usize, rules: Rules, size: Size) -> impl FnOnce(&mut World) {
    move |world| {
        let Process { id, holds, .. } = world.processes[p];
        for (j, hold) in holds.into_iter().enumerate() {
            let Some(hold) = hold else { continue };
            let broken_off = size.parks && rules.parks_at_shutdown && hold.phase == Phase::Running;
            if !(rules.is_accepted)(&world.jobs[j], &hold) {
                continue;
            }
            if broken_off {
                end(&mut world.jobs[j], JobState::Failed, Some(Reason::Unknown));
            } else if let (true, Phase::Settling(next)) = (size.parks, hold.phase) {
                // What a call came to is written before the end.
                write(&mut world.jobs[j], &hold, next, rules, size);
            } else {
                returned(&mut world.jobs[j], rules.refund);
            }
        }
        if mirror::is_removed(world.holds_something(id)) {
            world.rows.retain(|row| row.0 != id);
        } else if world.standing(id) == Some(Standing::Alive) {
            world.stand(id, Standing::Expired);
        }
        start(world, p);
    }
}

fn rescue(rules: Rules, size: Size) -> impl FnOnce(&mut World) {
    move |world| {
        for row in &mut world.rows {
            if mirror::is_marked(row.1) || !rules.rescues_the_expired_only {
                row.1 = Standing::Dead;
            }
        }
        let dead: Vec<u8> = world.rows.iter().filter(|row| row.1 == Standing::Dead).map(|row| row.0).collect();
        let in_doubt: Vec<bool> = world.jobs.iter().map(|job| is_in_doubt(world, job)).collect();
        for (job, in_doubt) in world.jobs.iter_mut().zip(in_doubt) {
            if dead.iter().any(|dead| mirror::is_taken_back(job.state, job.locked_by, dead)) {
                take_back(job, rules, size, in_doubt);
            }
        }
    }
}

/// Whether the job's worker holds several jobs that crashed before.
fn is_in_doubt(world: &World, job: &Job) -> bool {
    let suspects =
        |other: &&Job| other.state == JobState::Running && other.locked_by == job.locked_by && other.crashes > 0;
    world.jobs.iter().filter(suspects).count() > 1
}

fn take_back(job: &mut Job, rules: Rules, size: Size, in_doubt: bool) {
    let next = (rules.rescue)(job.counts(size.max_attempts), size.crash_limit, in_doubt, size.parks);
    job.crashes += 1;
    match next {
        Next::Failed(reason) => end(job, JobState::Failed, Some(reason)),
        Next::Return => {
            returned(job, rules.refund);
        }
        _ => release(job),
    }
}

fn write(job: &mut Job, hold: &Hold, next: Next, rules: Rules, size: Size) {
    if !(rules.is_accepted)(job, hold) {
        return;
    }
    if hold.known {
        job.open = 0;
    }
    match next {
        Next::Succeeded(reason) => {
            end(job, JobState::Succeeded, reason);
        }
        Next::Failed(reason) => end(job, JobState::Failed, Some(reason)),
        Next::Retry(_) if (rules.retry_of_the_last)(job.counts(size.max_attempts)) => release(job),
        Next::Retry(_) => end(job, JobState::Failed, Some(Reason::Exhausted)),
        Next::Snooze(_) | Next::Return => returned(job, rules.refund),
    }
}

fn returned(job: &mut Job, refund: i8) {
    job.attempts -= refund;
    release(job);
}

fn release(job: &mut Job) {
    *job = Job { state: JobState::Pending, reason: None, claim: None, locked_by: None, ..*job };
}

fn end(job: &mut Job, state: JobState, reason: Option<Reason>) {
    *job = Job { state, reason, claim: None, locked_by: None, ..*job };
}
