//! What must hold in every world and of every step, and the search for one where it does not.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use outbox_core::transition::{JobState, Reason};

use crate::rules::{Rules, Size};
use crate::steps::{By, steps};
use crate::world::{Mode, Phase, World};

/// What was violated, and the way there.
#[derive(Debug)]
#[allow(dead_code, reason = "shown when a test fails")]
pub struct Violation {
    pub what: &'static str,
    pub way: Vec<&'static str>,
}

/// Worlds and steps that were looked at.
#[derive(Debug, Default, Clone, Copy)]
pub struct Explored {
    pub worlds: usize,
    pub steps: usize,
}

pub const ACCEPTED_TWICE: &str = "two holders of a job whose writes are accepted";
pub const RUN_TWICE: &str = "two living workers run one job";
pub const TOO_MANY_ATTEMPTS: &str = "more attempts than allowed";
pub const BELOW_ZERO: &str = "a refund of an attempt that was not charged";
pub const TERMINAL_LEFT: &str = "a terminal state was left, other than by redrive";
pub const ILLEGAL: &str = "a step that the states do not allow";
pub const TOO_MANY_DEATHS: &str = "a job took down more processes than its limits allow";
pub const BLAMED: &str = "a job was charged again for what one neighbour did";
pub const EFFECT_TWICE: &str = "an effect that is there twice, or apart from its completion";
pub const ENDED_EARLY: &str = "a job ended although its limits allowed more";
pub const BLIND: &str = "a call beside, or behind, one of which nobody knows whether it had its effect";
pub const LOST: &str = "a job that can never end";

/// Looks at every world that can be reached. Breadth first, so the way to a violation is a shortest one.
pub fn explore(rules: &Rules, size: Size) -> Result<Explored, Violation> {
    let mut search = Search { size, worlds: Vec::new(), places: HashMap::new(), from: Vec::new(), back: Vec::new() };
    search.meet(World::new(size.jobs), None);
    let mut explored = Explored::default();
    let mut at = 0;
    while at < search.worlds.len() {
        let world = search.worlds[at].clone();
        for step in steps(&world, rules, size) {
            explored.steps += 1;
            if let Some(what) = of_step(&world, &step.world, step.name).or_else(|| of_world(&step.world, rules, size)) {
                return Err(search.violation(what, at, step.name));
            }
            let place = search.meet(step.world, Some((at, step.name)));
            if step.by == By::Course {
                search.back[place].push(u32::try_from(at).unwrap());
            }
        }
        at += 1;
    }
    explored.worlds = search.worlds.len();
    search.assert_nothing_is_lost().map(|()| explored)
}

struct Search {
    size: Size,
    worlds: Vec<World>,
    places: HashMap<World, usize>,
    from: Vec<Option<(usize, &'static str)>>,
    /// From where the ordinary course leads here.
    back: Vec<Vec<u32>>,
}

impl Search {
    fn meet(&mut self, world: World, from: Option<(usize, &'static str)>) -> usize {
        let next = self.worlds.len();
        match self.places.entry(world) {
            Entry::Occupied(place) => *place.get(),
            Entry::Vacant(place) => {
                self.worlds.push(place.key().clone());
                place.insert(next);
                self.from.push(from);
                self.back.push(Vec::new());
                next
            }
        }
    }

    fn violation(&self, what: &'static str, mut at: usize, last: &'static str) -> Violation {
        let mut way = vec![last];
        while let Some((before, name)) = self.from[at] {
            way.push(name);
            at = before;
        }
        way.reverse();
        Violation { what, way }
    }

    /// From every world the ordinary course alone can end every job: nobody has to help.
    fn assert_nothing_is_lost(&self) -> Result<(), Violation> {
        for job in 0..self.size.jobs {
            let mut ends: Vec<bool> = self.worlds.iter().map(|world| world.jobs[job].is_terminal()).collect();
            let mut open: Vec<usize> = (0..ends.len()).filter(|place| ends[*place]).collect();
            while let Some(place) = open.pop() {
                for before in &self.back[place] {
                    let before = usize::try_from(*before).unwrap();
                    if !std::mem::replace(&mut ends[before], true) {
                        open.push(before);
                    }
                }
            }
            if let Some(stuck) = ends.iter().position(|ends| !ends) {
                return Err(self.violation(LOST, stuck, "(nothing helps)"));
            }
        }
        Ok(())
    }
}

fn of_step(before: &World, after: &World, name: &'static str) -> Option<&'static str> {
    let is_redrive = name.starts_with("redrive");
    before.jobs.iter().zip(&after.jobs).find_map(|(old, new)| {
        let is_answer = name.starts_with("its owner") && old.reason == Some(Reason::Unknown);
        if old.is_terminal() && old != new && !(is_redrive && new.redrives == old.redrives + 1) && !is_answer {
            // The row alone: the observer counts on.
            let row = (old.state, old.reason, old.attempts, old.crashes)
                != (new.state, new.reason, new.attempts, new.crashes);
            return row.then_some(TERMINAL_LEFT);
        }
        (old.state != new.state && !old.state.may_become(new.state)).then_some(ILLEGAL)
    })
}

fn of_world(world: &World, rules: &Rules, size: Size) -> Option<&'static str> {
    world.jobs.iter().enumerate().find_map(|(j, job)| {
        let holds = world.processes.iter().filter_map(|process| process.holds[j].map(|hold| (process, hold)));
        let accepted = holds.clone().filter(|(_, hold)| (rules.is_accepted)(job, hold)).count();
        // A cancelled job's handler may still run for a moment, and so may one that a frozen process went on with.
        let lives = |mode| matches!(mode, Mode::Awake);
        let running = holds.filter(|(process, hold)| lives(process.mode) && hold.phase == Phase::Running).count();
        let cancelled = job.redrives > 0 || job.reason == Some(Reason::Cancelled);
        let counts = job.counts(size.max_attempts);
        let deaths_allowed = size.crash_limit.min(size.max_attempts);
        let rules = [
            (accepted > 1, ACCEPTED_TWICE),
            (running > 1 && !cancelled && world.rows_deleted == 0, RUN_TWICE),
            (counts.attempts > size.max_attempts, TOO_MANY_ATTEMPTS),
            (job.attempts < 0, BELOW_ZERO),
            (u32::from(job.deaths) > deaths_allowed && !cancelled && world.rows_deleted == 0, TOO_MANY_DEATHS),
            (job.effects > 1 || (size.transactional && job.effects > job.completions), EFFECT_TWICE),
            (is_done_without_effect(job.state, job.reason, size, job.effects), EFFECT_TWICE),
            (size.parks && job.open > 1 && world.rows_deleted == 0, BLIND),
            (ended_early(job.reason, counts.attempts, u32::from(job.crashes), size), ENDED_EARLY),
        ];
        // Of a job that never took its process down: one that did pays for itself too.
        let blamed = job.deaths == 0
            && u32::from(job.blamed) > 1 + world.jobs.iter().map(|job| u32::from(job.redrives)).sum::<u32>();
        rules.into_iter().chain([(blamed, BLAMED)]).find(|(violated, _)| *violated).map(|(_, what)| what)
    })
}

fn is_done_without_effect(state: JobState, reason: Option<Reason>, size: Size, effects: u8) -> bool {
    size.transactional && state == JobState::Succeeded && reason.is_none() && effects != 1
}

fn ended_early(reason: Option<Reason>, attempts: u32, crashes: u32, size: Size) -> bool {
    match reason {
        Some(Reason::Exhausted) => attempts < size.max_attempts,
        Some(Reason::Crashed) => attempts < size.max_attempts && crashes < size.crash_limit,
        _ => false,
    }
}
