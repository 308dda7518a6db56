//! The end of a run, in the words of the test programs.

use super::libtest::{Counts, Section};
use super::run::Run;

/// Prints one line a program that had tests, then the sum of all.
pub(super) fn print(run: &Run) {
    println!("\nsummary");
    for section in run.sections.iter().filter(|section| section.totals() != Counts::default()) {
        println!("  {}: {}{}", section.binary, line(section.totals()), remark(section));
    }
    let totals = run.totals();
    println!("  total: {}", line(totals));
    println!("{} passed, {} failed", totals.passed, totals.failed);
}

fn line(counts: Counts) -> String {
    format!("{} passed; {} failed; {} ignored", counts.passed, counts.failed, counts.ignored)
}

/// What the numbers alone do not say.
fn remark(section: &Section) -> &'static str {
    let Some(counts) = section.counts else {
        return " (it ended without a result, which counts as one failure)";
    };
    let counted = counts.passed + counts.failed + counts.ignored;
    if counted == section.tests.len() as u64 { "" } else { " (not every test was seen by name)" }
}
