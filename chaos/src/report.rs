//! The summary of a run.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::check::{Rule, Verdict, story};
use crate::history::{Fate, History};
use crate::node::NOT_OPENED;
use crate::plan::Plan;

/// How many violations are told in full, each with the whole story of its job.
const TOLD: usize = 20;

const ABORTED: &str = "abort by a handler";

/// What was done and what was found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// How long faults and load went on, in seconds.
    pub seconds: f64,
    /// Faults that happened, in all.
    pub faults: u64,
    /// Those of each kind.
    pub by_kind: BTreeMap<String, u64>,
    /// Faults that were planned and did not happen, for what they were to meet was not there.
    pub missed: u64,
    /// Processes that were started.
    pub processes: u64,
    /// Those of each place.
    pub started: BTreeMap<String, Started>,
    /// Transactions that were committed, rolled back, and of unknown fate.
    pub transactions: Transactions,
    /// Jobs.
    pub jobs: u64,
    /// Those that succeeded.
    pub succeeded: u64,
    /// Those that failed.
    pub failed: u64,
    /// Claims, an attempt each.
    pub attempts: u64,
    /// Executions that handlers noted.
    pub executions: u64,
    /// Jobs that were taken from dead workers.
    pub rescued: u64,
    /// Failed jobs that were given a new life.
    pub redriven: u64,
    /// Outcomes and effects that the engine refused, because their claim no longer stood.
    pub refused: u64,
    /// How often each rule was looked at.
    pub checked: BTreeMap<Rule, u64>,
    /// How often one was broken.
    pub violations: u64,
    /// The first of those, each with its story.
    pub told: Vec<String>,
    /// What did not come to its end, and was no longer waited for.
    pub stuck: Vec<String>,
}

/// How often the process of a place was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Started {
    /// In all.
    pub times: u64,
    /// Of those: how often the database did not let it begin.
    pub in_vain: u64,
}

/// Transactions by their fate, as far as their publishers know it.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Transactions {
    /// Answered as committed.
    pub committed: u64,
    /// Rolled back.
    pub rolled_back: u64,
    /// Not answered.
    pub unknown: u64,
}

impl Report {
    /// Puts it together. `inflicted` holds by kind how many faults were planned, and how many happened.
    #[must_use]
    pub fn of(plan: &Plan, inflicted: BTreeMap<String, (u64, u64)>, history: &History, verdict: Verdict) -> Self {
        let planned: u64 = inflicted.values().map(|(planned, _)| planned).sum();
        let mut by_kind: BTreeMap<_, _> = inflicted.into_iter().map(|(kind, (_, happened))| (kind, happened)).collect();
        if history.starved > 0 {
            by_kind.insert("full pool".to_owned(), history.starved);
        }
        // Not planned, but drawn by the seed with the load.
        let aborted = history.deaths.iter().filter(|death| death.how.starts_with("signal: 6")).count();
        by_kind.insert(ABORTED.to_owned(), count(aborted));
        by_kind.retain(|_, happened| *happened > 0);
        let faults = by_kind.values().sum();
        let happened: u64 = by_kind.iter().filter(|(kind, _)| *kind != ABORTED).map(|(_, times)| times).sum();
        let told = verdict.violations.iter().take(TOLD).map(|violation| {
            let story = violation.job.as_ref().map(|job| story(history, job)).unwrap_or_default();
            format!("{}: {}\n{story}", violation.rule, violation.what)
        });
        Self {
            seed: plan.seed,
            seconds: plan.length.as_secs_f64(),
            faults,
            by_kind,
            missed: planned.saturating_sub(happened),
            processes: count(history.deaths.len()),
            started: started(history),
            transactions: Transactions::of(history),
            jobs: verdict.jobs,
            succeeded: verdict.ended.0,
            failed: verdict.ended.1,
            attempts: verdict.claims,
            executions: count(history.executions.len()),
            rescued: verdict.rescued,
            redriven: verdict.redriven,
            refused: history.refused.values().sum(),
            told: told.collect(),
            violations: count(verdict.violations.len()),
            checked: verdict.checked,
            stuck: Vec::new(),
        }
    }

    /// Whether every guarantee held, and the run came to its end.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.violations == 0 && self.stuck.is_empty()
    }
}

impl Transactions {
    fn of(history: &History) -> Self {
        let mut all = Self::default();
        for transaction in &history.transactions {
            match transaction.fate {
                Fate::Committed(_) => all.committed += 1,
                Fate::RolledBack => all.rolled_back += 1,
                Fate::Unknown => all.unknown += 1,
            }
        }
        all
    }
}

/// By the name of the place, which the process's own begins with. Each that was started has ended, or been given up.
fn started(history: &History) -> BTreeMap<String, Started> {
    let not_opened = format!("exit status: {NOT_OPENED}");
    let mut places = BTreeMap::<_, Started>::new();
    for death in &history.deaths {
        let place = death.node.rsplit_once('.').map_or(&*death.node, |(place, _)| place);
        let started = places.entry(place.to_owned()).or_default();
        started.times += 1;
        started.in_vain += u64::from(death.how == not_opened);
    }
    places
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, {:.0} s", self.seed, self.seconds)?;
        writeln!(f, "faults       {}, and {} that met nobody", self.faults, self.missed)?;
        for (kind, happened) in &self.by_kind {
            writeln!(f, "  {happened:>8}  {kind}")?;
        }
        let Transactions { committed, rolled_back, unknown } = self.transactions;
        writeln!(f, "transactions {committed} committed, {rolled_back} rolled back, {unknown} of unknown fate")?;
        writeln!(f, "jobs         {}: {} succeeded, {} failed as planned", self.jobs, self.succeeded, self.failed)?;
        writeln!(
            f,
            "attempts     {}, {} executions noted, by {} processes",
            self.attempts, self.executions, self.processes
        )?;
        for (place, Started { times, in_vain }) in &self.started {
            let in_vain = if *in_vain > 0 { format!(", {in_vain} in vain") } else { String::new() };
            writeln!(f, "  {times:>8}  starts of {place}{in_vain}")?;
        }
        writeln!(f, "rescued      {}", self.rescued)?;
        writeln!(f, "redriven     {}", self.redriven)?;
        writeln!(f, "refused      {} stale writes", self.refused)?;
        writeln!(f, "checked")?;
        for rule in Rule::ALL {
            writeln!(f, "  {:>8}  {rule}", self.checked.get(&rule).copied().unwrap_or(0))?;
        }
        writeln!(f, "violations   {}", self.violations)?;
        self.stuck.iter().try_for_each(|stuck| writeln!(f, "stuck        {stuck}"))?;
        self.told.iter().try_for_each(|violation| writeln!(f, "\n{violation}"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;
    use crate::check::Violation;
    use crate::clock::Monotonic;
    use crate::history::{Death, JobKey};
    use crate::plan::Nodes;

    fn report(history: &History, verdict: Verdict) -> Report {
        let nodes = Nodes { workers: 1, publishers: 1 };
        let plan = Plan::draw(1, Duration::from_secs(10), Duration::from_secs(1), nodes, None);
        let inflicted = [("kill".to_owned(), (3, 2)), ("full pool".to_owned(), (1, 0))];
        Report::of(&plan, inflicted.into(), history, verdict)
    }

    /// What a process does to itself is read from its ledger, and what a handler did to its process from how that ended.
    #[test]
    fn faults_are_counted_when_they_happened() {
        let how = "signal: 6 (SIGABRT)".to_owned();
        let aborted = Death { node: "worker-1.1".into(), at: Monotonic(1), how, expected: true };
        let history = History { starved: 1, deaths: vec![aborted], ..History::default() };
        let report = report(&history, Verdict::default());
        assert_eq!((report.faults, report.missed), (4, 1));
        assert_eq!(report.by_kind[ABORTED], 1);
        assert!(report.is_sound());
    }

    /// Each place has its number of starts, with those that the database turned away; a run that did not end is not sound.
    #[test]
    fn starts_are_counted_by_place() {
        let death =
            |node: &str, how: &str| Death { node: node.into(), at: Monotonic(1), how: how.into(), expected: true };
        let deaths = vec![
            death("worker-1.1", "exit status: 3"),
            death("worker-1.2", "signal: 9 (SIGKILL)"),
            death("publisher-1.1", "exit status: 0"),
        ];
        let mut report = report(&History { deaths, ..History::default() }, Verdict::default());
        assert_eq!(report.started["worker-1"], Started { times: 2, in_vain: 1 });
        assert_eq!(report.started["publisher-1"], Started { times: 1, in_vain: 0 });
        assert!(report.to_string().contains("2  starts of worker-1, 1 in vain"));
        report.stuck.push("nothing has changed".to_owned());
        assert!(!report.is_sound());
        assert!(report.to_string().contains("stuck        nothing has changed"));
    }

    #[test]
    fn a_violation_is_told_with_its_job() {
        let job = JobKey { handler: "parcel.book".into(), source: Uuid::nil() };
        let what = "its effect is there 2 times".to_owned();
        let verdict = Verdict {
            violations: vec![Violation { rule: Rule::EffectOnce, what, job: Some(job) }],
            ..Verdict::default()
        };
        let report = report(&History::default(), verdict);
        assert!(!report.is_sound());
        let told = report.to_string();
        for part in ["exactly once: its effect is there 2 times", "parcel.book of 00000000", "violations   1"] {
            assert!(told.contains(part), "`{part}` is not in {told}");
        }
    }
}
