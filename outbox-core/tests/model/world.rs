//! What the model knows of the database and of the processes.

use std::hash::{DefaultHasher, Hash, Hasher};

use outbox_core::transition::{Counts, JobState, Next, Reason};

use crate::mirror::Standing;

pub const JOBS: usize = 2;
pub const PROCESSES: usize = 2;

/// A job's row, and what an observer counts of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Job {
    pub state: JobState,
    pub reason: Option<Reason>,
    /// Signed, so that a refund too many shows.
    pub attempts: i8,
    pub crashes: u8,
    pub claim: Option<u8>,
    pub locked_by: Option<u8>,
    /// Its inbox mark is there.
    pub marked: bool,
    /// Lives before this one.
    pub redrives: u8,
    /// Of this life: committed effects, accepted completions, processes that it took down.
    pub effects: u8,
    pub completions: u8,
    pub deaths: u8,
    /// Of this life: crashes that another job caused.
    pub blamed: u8,
    /// Calls that were begun, and of which nobody has said yet what became of their effect. Counted where the handler parks.
    pub open: u8,
}

impl Job {
    pub const NEW: Self = Self {
        state: JobState::Pending,
        reason: None,
        attempts: 0,
        crashes: 0,
        claim: None,
        locked_by: None,
        marked: false,
        redrives: 0,
        effects: 0,
        completions: 0,
        deaths: 0,
        blamed: 0,
        open: 0,
    };

    pub fn counts(&self, max_attempts: u32) -> Counts {
        let attempts = u32::try_from(self.attempts).unwrap_or(0);
        Counts { attempts, max_attempts, crashes: self.crashes.into() }
    }

    pub fn is_terminal(&self) -> bool {
        matches!(self.state, JobState::Succeeded | JobState::Failed)
    }
}

/// What a process does with a job that it claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    Waiting,
    Running,
    /// The outcome is to be written.
    Settling(Next),
}

/// A job in a process's memory, with the counters that came with the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hold {
    pub claim: u8,
    pub counts: (u8, u8),
    pub phase: Phase,
    /// Its handler has said what became of the effect. Told where the handler parks.
    pub known: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    Awake,
    Frozen,
    /// Was frozen while its lease ended, goes on, and has not noticed yet.
    Zombie,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Process {
    pub mode: Mode,
    /// Its worker id.
    pub id: u8,
    /// By job.
    pub holds: [Option<Hold>; JOBS],
}

impl Process {
    pub const fn new(id: u8) -> Self {
        Self { mode: Mode::Awake, id, holds: [None; JOBS] }
    }

    /// All but the numbers.
    fn key(&self) -> u64 {
        let holds = self.holds.map(|hold| hold.map(|hold| (hold.counts, hold.phase, hold.known)));
        let mut hasher = DefaultHasher::new();
        (self.mode, holds).hash(&mut hasher);
        hasher.finish()
    }
}

/// Everything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    pub jobs: Vec<Job>,
    pub processes: [Process; PROCESSES],
    /// Workers' rows, by id.
    pub rows: Vec<(u8, Standing)>,
    /// Faults that were spent, of those that are counted.
    pub rows_deleted: u8,
}

impl World {
    pub fn new(jobs: usize) -> Self {
        let rows = vec![(0, Standing::Alive), (1, Standing::Alive)];
        Self { jobs: vec![Job::NEW; jobs], processes: [Process::new(0), Process::new(1)], rows, rows_deleted: 0 }
    }

    pub fn standing(&self, id: u8) -> Option<Standing> {
        self.rows.iter().find(|(row, _)| *row == id).map(|(_, standing)| *standing)
    }

    pub fn stand(&mut self, id: u8, standing: Standing) {
        self.rows.iter_mut().filter(|(row, _)| *row == id).for_each(|row| row.1 = standing);
    }

    pub fn holds_something(&self, id: u8) -> bool {
        self.jobs.iter().any(|job| job.locked_by == Some(id))
    }

    pub fn fresh_id(&self) -> u8 {
        let rows = self.rows.iter().map(|row| row.0);
        let used = rows.chain(self.jobs.iter().filter_map(|job| job.locked_by));
        used.chain(self.processes.iter().map(|process| process.id)).max().map_or(0, |most| most + 1)
    }

    pub fn fresh_claim(&self) -> u8 {
        let held = self.processes.iter().flat_map(|process| process.holds).flatten().map(|hold| hold.claim);
        held.chain(self.jobs.iter().filter_map(|job| job.claim)).max().map_or(0, |most| most + 1)
    }

    /// The same world with processes in a fixed order, and ids and claims numbered as they are met: which is which says nothing. Rows
    /// that no process and no job refers to do nothing any more, and are left out.
    pub fn canonical(mut self) -> Self {
        self.processes.sort_by_key(Process::key);
        let (jobs, processes) = (&self.jobs, &self.processes);
        self.rows.retain(|(id, _)| {
            jobs.iter().any(|job| job.locked_by == Some(*id)) || processes.iter().any(|process| process.id == *id)
        });
        // Nothing follows from how a success came about.
        for job in self.jobs.iter_mut().filter(|job| job.state == JobState::Succeeded) {
            *job = Job {
                state: job.state,
                reason: job.reason,
                effects: job.effects,
                completions: job.completions,
                ..Job::NEW
            };
        }
        let mut claims = Numbers::default();
        let mut ids = Numbers::default();
        for job in &mut self.jobs {
            job.claim = job.claim.map(|claim| claims.of(claim));
            job.locked_by = job.locked_by.map(|id| ids.of(id));
        }
        for process in &mut self.processes {
            process.id = ids.of(process.id);
            for hold in process.holds.iter_mut().flatten() {
                hold.claim = claims.of(hold.claim);
            }
        }
        for row in &mut self.rows {
            row.0 = ids.of(row.0);
        }
        self.rows.sort_unstable();
        self
    }
}

#[derive(Default)]
struct Numbers(Vec<u8>);

impl Numbers {
    fn of(&mut self, old: u8) -> u8 {
        let place = self.0.iter().position(|known| *known == old).unwrap_or_else(|| {
            self.0.push(old);
            self.0.len() - 1
        });
        u8::try_from(place).unwrap()
    }
}
