//! What a run came to, for people and for programs.

use std::fmt::Write as _;

use serde::Serialize;

use crate::facts::{Drift, Facts, Kills, Outage, Quarantine, Replay, Versions};
use crate::proof::{Check, Proof};

/// Commands that the play gives itself, beside those of the load: `acts::trace` and `acts::quarantine` sell a policy each.
const OF_THE_PLAY: u32 = 2;

/// Everything that a run came to.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) broker: &'static str,
    pub(crate) seconds: f64,
    pub(crate) facts: Facts,
    pub(crate) proof: Proof,
}

/// The same for programs, in this order.
#[derive(Debug, Serialize)]
struct Figures<'a> {
    proof: bool,
    broker: &'a str,
    seconds: f64,
    commands: u64,
    refused: u64,
    asked_again: u64,
    policies: usize,
    versions: &'a Versions,
    outage: &'a Outage,
    kills: &'a Kills,
    quarantine: &'a Quarantine,
    drift: &'a Drift,
    replay: &'a Replay,
    trace: &'a str,
    spans: usize,
    checks: &'a [Check],
}

impl Report {
    pub(crate) fn proven(&self) -> bool {
        self.proof.holds()
    }

    /// One object, on one line. Its first figure is the one that a reader looks for.
    pub(crate) fn json(&self) -> serde_json::Result<String> {
        let Facts { answered, versions, outage, kills, quarantine, drift, replay, trace } = &self.facts;
        serde_json::to_string(&Figures {
            proof: self.proven(),
            broker: self.broker,
            seconds: (self.seconds * 10.0).round() / 10.0,
            commands: answered.commands,
            refused: answered.refused,
            asked_again: answered.unanswered,
            policies: answered.sold.len(),
            versions,
            outage,
            kills,
            quarantine,
            drift,
            replay,
            trace: trace.trace(),
            spans: trace.len(),
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
        let Facts { answered, versions, outage, kills, quarantine, drift, replay, trace } = &self.facts;
        writeln!(
            page,
            "\nThe way of one sale, trace {}: below each step what it set in motion, by when that began\n",
            trace.trace()
        )?;
        writeln!(page, "  {:<64}{:>13} {:>12}", "", "began after", "took")?;
        writeln!(page, "{}", trace.text())?;
        let mut line = |what: &str, text: String| writeln!(page, "{what:<12}{text}");
        line(
            "commands",
            format!(
                "{} carried out in {:.0} s, {} refused; {} asked again, because no answer came; and {} of the play's own, which make a fact each too \
                 (the sale that is traced, and the one of version 3)",
                answered.commands, self.seconds, answered.refused, answered.unanswered, OF_THE_PLAY
            ),
        )?;
        line(
            "versions",
            format!(
                "{} sold as version 1; {} as both, charged by who knows 1; then {} in francs, by who knows 2",
                versions.told_as_the_first, versions.read_as_the_first, versions.charged_in_francs
            ),
        )?;
        line(
            "outage",
            format!(
                "{} away for {:.0} s, {} facts waited, {} charged; all there {:.1} s behind its return",
                self.broker, outage.seconds, outage.waiting, outage.charged, outage.caught_up_seconds
            ),
        )?;
        line("kills", format!("billing with {} jobs in hand, policy with {}", kills.billing_held, kills.policy_held))?;
        line(
            "quarantine",
            format!(
                "{}; {} driven once more, {} thrown away, {} charges went on meanwhile",
                quarantine.reasons.join(", "),
                quarantine.redriven,
                quarantine.discarded,
                quarantine.charged_meanwhile
            ),
        )?;
        line(
            "drift",
            format!(
                "{} compared: {} missing, {} divergent, {} orphaned, {} mended, while {} facts came",
                drift.compared, drift.missing, drift.divergent, drift.orphaned, drift.repaired, drift.came_meanwhile
            ),
        )?;
        line(
            "replay",
            format!(
                "{} facts sent again, {} charges replayed, {} second effects",
                replay.resent, replay.done_before, replay.second_effects
            ),
        )?;
        writeln!(page, "\n{:<52}{:>12}{:>12}", "proof", "expected", "found")?;
        for check in &self.proof.0 {
            let mark = if check.holds() { '✓' } else { '✗' };
            let expected = format!("{}{}", if check.at_least { ">= " } else { "" }, check.expected);
            writeln!(page, "{mark} {:<50}{expected:>12}{:>12}", check.what, check.found)?;
        }
        let verdict = if self.proven() {
            "proven: nothing was lost, nothing happened twice, in either service"
        } else {
            "NOT PROVEN"
        };
        write!(page, "\n{verdict}")
    }
}
