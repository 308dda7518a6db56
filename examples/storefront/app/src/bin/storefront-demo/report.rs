//! The figures of a run, for people and for programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::expected::Expected;
use crate::kill::Killed;
use crate::proof::{Check, Proof, lost};
use crate::tables::{Counts, Effects, Fate};

/// Everything that a run came to.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) seed: u64,
    pub(crate) expected: Expected,
    pub(crate) counts: Counts,
    pub(crate) fates: BTreeMap<String, Fate>,
    pub(crate) effects: Effects,
    pub(crate) jobs: u64,
    pub(crate) killed: Option<Killed>,
    pub(crate) seconds: f64,
    pub(crate) proof: Proof,
}

/// The same for programs, in this order.
#[derive(Debug, Serialize)]
struct Figures<'a> {
    events: u64,
    jobs_succeeded: u64,
    jobs_lost: i128,
    jobs_failed: u64,
    units: u64,
    confirmations: u64,
    revenue_cents: i128,
    proof: bool,
    attempts: u64,
    rescued: u64,
    killed_worker: Option<&'a Killed>,
    letters_repeated: u64,
    orders: u64,
    lines: usize,
    skipped_lines: usize,
    seed: u64,
    seconds: f64,
    jobs: &'a BTreeMap<String, Fate>,
    checks: &'a [Check],
}

impl Report {
    pub(crate) fn proven(&self) -> bool {
        self.proof.holds()
    }

    /// One object. Its first figures are those that a reader looks for.
    pub(crate) fn json(&self) -> serde_json::Result<String> {
        let together = self.together();
        serde_json::to_string_pretty(&Figures {
            events: self.counts.events,
            jobs_succeeded: self.counts.succeeded,
            jobs_lost: lost(self.jobs, &self.counts),
            jobs_failed: self.counts.failed,
            units: self.effects.units_by_sku.values().sum(),
            confirmations: self.effects.confirmations,
            revenue_cents: self.effects.revenue_cents,
            proof: self.proven(),
            attempts: together.attempts,
            rescued: together.rescued,
            killed_worker: self.killed.as_ref(),
            letters_repeated: self.letters_repeated(),
            orders: self.expected.orders,
            lines: self.expected.lines,
            skipped_lines: self.expected.skipped_lines,
            seed: self.seed,
            seconds: (self.seconds * 1000.0).round() / 1000.0,
            jobs: &self.fates,
            checks: &self.proof.0,
        })
    }

    /// A page.
    pub(crate) fn text(&self) -> String {
        let mut page = String::new();
        // Writing to a String does not fail.
        let _ = self.write(&mut page);
        page
    }

    fn write(&self, page: &mut String) -> std::fmt::Result {
        let Expected { orders, lines, skipped_lines, .. } = &self.expected;
        writeln!(page, "\n{} orders with {lines} lines in {:.1} s", grouped(*orders), self.seconds)?;
        if *skipped_lines > 0 {
            writeln!(page, "{skipped_lines} bad lines were skipped")?;
        }
        writeln!(page, "\n{:<42}{:>10}{:>8}{:>10}{:>9}", "jobs", "succeeded", "failed", "attempts", "rescued")?;
        for (name, fate) in &self.fates {
            row(page, name, fate)?;
        }
        row(page, "together", &self.together())?;
        writeln!(page, "\n{}", self.story())?;
        writeln!(page, "\n{:<42}{:>16}{:>16}", "proof", "expected", "found")?;
        for Check { what, expected, found } in &self.proof.0 {
            let mark = if expected == found { '✓' } else { '✗' };
            writeln!(page, "{mark} {what:<40}{:>16}{:>16}", signed(*expected), signed(*found))?;
        }
        let verdict = if self.proven() { "proven: nothing was lost, nothing happened twice" } else { "NOT PROVEN" };
        write!(page, "\n{verdict}")
    }

    fn story(&self) -> String {
        let Some(Killed { name, held, at, .. }) = &self.killed else {
            return "No worker was killed: everything was settled before one held a job.".to_owned();
        };
        let rescued = grouped(self.together().rescued);
        let mail = match self.letters_repeated() {
            0 => String::new(),
            repeated => {
                format!("\nLetters that were out when it died, asked for again, and known to the provider: {repeated}.")
            }
        };
        format!(
            "{name} was killed with {:.0} % settled, while it held {held} jobs. {rescued} were rescued, and run by the other worker.{mail}",
            100.0 * at
        )
    }

    fn together(&self) -> Fate {
        self.fates.values().fold(Fate::default(), |sum, fate| Fate {
            succeeded: sum.succeeded + fate.succeeded,
            failed: sum.failed + fate.failed,
            live: sum.live + fate.live,
            attempts: sum.attempts + fate.attempts,
            rescued: sum.rescued + fate.rescued,
        })
    }

    /// Letters that the provider was asked for again, because a worker died behind the letter.
    fn letters_repeated(&self) -> u64 {
        self.effects.mail_requests.saturating_sub(self.effects.letters)
    }
}

fn row(page: &mut String, name: &str, fate: &Fate) -> std::fmt::Result {
    let [succeeded, failed, attempts, rescued] =
        [fate.succeeded, fate.failed, fate.attempts, fate.rescued].map(grouped);
    writeln!(page, "  {name:<40}{succeeded:>10}{failed:>8}{attempts:>10}{rescued:>9}")
}

/// `51,317`
pub(crate) fn grouped(number: u64) -> String {
    signed(number.into())
}

fn signed(number: i128) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{grouped, signed};

    #[test]
    fn figures_are_grouped_by_thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(830), "830");
        assert_eq!(grouped(51_317), "51,317");
        assert_eq!(grouped(1_000_000), "1,000,000");
        assert_eq!(signed(-4_150), "-4,150");
    }
}
