//! The summary, for people and as JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::check::{Rule, Seen, Verdict, Violation};
use crate::plan::Plan;
use crate::ways::Broker;

/// Most violations that are told one by one.
const TOLD: usize = 20;

/// What a run came to.
#[derive(Debug, Serialize)]
pub struct Report {
    seed: u64,
    broker: Broker,
    /// By kind: planned, and happened.
    faults: BTreeMap<&'static str, (u64, u64)>,
    sent: usize,
    received: usize,
    effects: usize,
    /// How often each rule was looked at.
    checked: BTreeMap<Rule, u64>,
    violations: usize,
    /// Why the run did not come to its end.
    stuck: Option<String>,
    #[serde(skip)]
    told: Vec<Violation>,
}

impl Report {
    /// Of a run.
    #[must_use]
    pub fn of(
        broker: Broker,
        plan: &Plan,
        faults: BTreeMap<&'static str, (u64, u64)>,
        seen: &Seen,
        verdict: Verdict,
        stuck: Option<String>,
    ) -> Self {
        Self {
            seed: plan.seed,
            broker,
            faults,
            sent: seen.sent.len(),
            received: seen.received.len(),
            effects: seen.effects.len(),
            checked: verdict.checked,
            violations: verdict.violations.len(),
            stuck,
            told: verdict.violations.into_iter().take(TOLD).collect(),
        }
    }

    /// Whether every rule held, and the run came to its end.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.violations == 0 && self.stuck.is_none()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {}, {:?}: {} events sent, {} received, {} effects",
            self.seed, self.broker, self.sent, self.received, self.effects
        )?;
        for (name, (planned, happened)) in &self.faults {
            writeln!(f, "  {name}: {happened} of {planned}")?;
        }
        for (rule, times) in &self.checked {
            let broken = self.told.iter().filter(|violation| violation.rule == *rule).count();
            let verdict = if broken == 0 { "held" } else { "BROKEN" };
            writeln!(f, "  {verdict:>6}  {rule} ({times} times looked at)")?;
        }
        for violation in &self.told {
            writeln!(f, "  {}", violation.what)?;
        }
        match &self.stuck {
            Some(why) => writeln!(f, "the run did not come to its end: {why}"),
            None => writeln!(f, "{} violations", self.violations),
        }
    }
}
