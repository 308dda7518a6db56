//! What a run says at the terminal.

use crate::measure::{Cell, Measure};
use crate::protocol::Done;
use crate::stats::Spread;
use crate::targets::{Verdict, figures};
use crate::works::{OURS, Work};

/// Columns behind the figure that the work is done for: heading and figure.
const COLUMNS: [(&str, Measure); 7] = [
    ("WAL B", Measure::Wal),
    ("CPU s/100k", Measure::Cpu),
    ("peak MB", Measure::PeakMb),
    ("stmts", Measure::Statements),
    ("pages", Measure::Pages),
    ("dead", Measure::Dead),
    ("MB", Measure::TableMb),
];
/// Before them, where single operations are timed.
const QUANTILES: [(&str, Measure); 2] = [("p95 ms", Measure::P95), ("p99 ms", Measure::P99)];

/// Where two halves are told apart.
const HALVES: [(&str, Measure); 3] = [("p50 ms", Measure::P50), ("p99 ms", Measure::P99), ("then x", Measure::Later)];

/// Those of a work.
pub(super) fn columns(work: &Work) -> impl Iterator<Item = (&'static str, Measure)> {
    let quantiles = match work.figure {
        Measure::P50 => &QUANTILES[..],
        Measure::Tail => &HALVES,
        _ => &[],
    };
    quantiles.iter().chain(&COLUMNS).copied()
}

/// What the figure that a work is done for is called.
pub(super) fn heading(work: &Work) -> String {
    match work.figure {
        Measure::P50 => "p50 ms".to_owned(),
        Measure::Seconds => "seconds".to_owned(),
        Measure::Tail => "kept".to_owned(),
        _ => format!("{}s/s", work.unit.word()),
    }
}

/// While it goes on.
pub(super) fn print_cell(work: &Work, round: u32, side: &str, done: &Done) {
    eprintln!("  {} {} {side}: {:.2} s", work.key, round + 1, done.seconds);
}

pub(super) fn print_work(work: &Work, cells: &[Cell]) {
    println!("\n{}: {}", work.key, work.what);
    print!("{}{}", work_table(work, cells), introductions(cells));
}

/// A line for each that said what it is, and how much it did where that is less than ours.
pub(super) fn introductions(cells: &[Cell]) -> String {
    let all = cells.first().map_or(0, |cell| cell.done.jobs);
    let of_side = |side: &str| introduction(cells.iter().find(|cell| cell.side == side)?, all);
    sides(cells).into_iter().filter_map(of_side).collect()
}

fn introduction(cell: &Cell, all: u64) -> Option<String> {
    let version = cell.introduction.version.as_ref()?;
    let settings = cell.introduction.settings.iter().map(|settings| format!("; {settings}"));
    let less = (cell.done.jobs < all).then(|| format!("; only {} jobs", cell.done.jobs));
    Some(format!("  {}: {version}{}\n", cell.side, less.into_iter().chain(settings).collect::<String>()))
}

fn work_table(work: &Work, cells: &[Cell]) -> String {
    let unit = work.unit.word();
    let article = if unit == "event" { "an" } else { "a" };
    let headings = columns(work).map(|(heading, _)| format!(" {heading:>10}")).collect::<Vec<_>>().concat();
    let head = format!("  {:<18} {:>3} {:>10}  {:<17}{headings}", "", "n", heading(work), "quartiles");
    let foot = format!("  (medians; WAL bytes, statements and pages touched {article} {unit})\n");
    let lines = sides(cells).into_iter().map(|side| side_line(work, cells, side));
    std::iter::once(head).chain(lines).chain([foot]).collect::<Vec<_>>().join("\n")
}

fn side_line(work: &Work, cells: &[Cell], side: &str) -> String {
    let spread = |measure| Spread::of(figures(cells, side, measure, work.unit).into_iter().map(|(_, figure)| figure));
    let first = spread(work.figure);
    let n = first.map_or(0, |first| first.n);
    let quartiles = first.map(|first| format!("{}..{}", figure(first.q1), figure(first.q3))).unwrap_or_default();
    let columns =
        columns(work).map(|(_, measure)| format!(" {:>10}", median(spread(measure)))).collect::<Vec<_>>().concat();
    format!("  {side:<18} {n:>3} {:>10}  {quartiles:<17}{columns}", median(first))
}

pub(super) fn median(spread: Option<Spread>) -> String {
    spread.map_or_else(|| "-".to_owned(), |spread| figure(spread.median))
}

/// Sides in the order in which they first had their turn.
pub(super) fn sides(cells: &[Cell]) -> Vec<&str> {
    let mut sides: Vec<&str> = Vec::new();
    for cell in cells {
        if !sides.contains(&cell.side.as_str()) {
            sides.push(&cell.side);
        }
    }
    sides
}

pub(super) fn print_verdicts(verdicts: &[Verdict]) {
    println!("\ntargets");
    print!("{}", verdict_table(verdicts));
}

fn verdict_table(verdicts: &[Verdict]) -> String {
    let head = ["", "work", "against", "ours", "theirs", "value", "quartiles", "target", ""].map(str::to_owned);
    std::iter::once(head).chain(verdicts.iter().map(verdict_line)).map(|columns| aligned(&columns)).collect()
}

pub(super) fn verdict_line(verdict: &Verdict) -> [String; 9] {
    let number = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), figure);
    let met = match verdict.met {
        Some(true) => "met",
        Some(false) => "MISSED",
        None => "not in this run",
    };
    [
        verdict.key.to_owned(),
        verdict.work.to_owned(),
        held_against(verdict),
        number(verdict.ours),
        number(verdict.theirs),
        number(verdict.value.map(|value| value.median)),
        verdict.value.map(|value| format!("{}..{}", figure(value.q1), figure(value.q3))).unwrap_or_default(),
        verdict.bound.clone(),
        met.to_owned(),
    ]
}

/// Both, where the one is not ours.
fn held_against(verdict: &Verdict) -> String {
    let against = verdict.against.as_deref().unwrap_or_default();
    if verdict.side == OURS { against.to_owned() } else { format!("{}: {against}", verdict.side) }
}

fn aligned([key, work, against, ours, theirs, value, quartiles, bound, met]: &[String; 9]) -> String {
    format!(
        "  {key:<14} {work:<14} {against:<18} {ours:>10} {theirs:>10} {value:>7}  {quartiles:<12} {bound:<8} {met}\n"
    )
}

/// As precise as such figures are.
pub(super) fn figure(value: f64) -> String {
    match value.abs() {
        size if size >= 1_000.0 => grouped(value),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 && !text.ends_with('-') {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::cell;
    use crate::protocol::Introduction;
    use crate::targets::TARGETS;
    use crate::works::chosen;

    #[test]
    fn figures_are_as_precise_as_they_are_meant() {
        let texts = [0.1234, 12.34, 123.4, 1_234.5, 1_234_567.0, -1_234.0].map(figure);
        assert_eq!(texts, ["0.12", "12.3", "123", "1,234", "1,234,567", "-1,234"]);
    }

    #[test]
    fn a_table_has_a_line_for_each_side_with_what_is_not_known_left_out() {
        let work = chosen(&["drain".to_owned()]).unwrap()[0];
        let text = work_table(work, &[cell("ours", 0, 1_000), cell("limit", 0, 2_000), cell("ours", 1, 3_000)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[1].contains("ours") && lines[1].contains("2,000") && lines[1].contains("1,500..2,500"), "{text}");
        assert!(lines[2].contains("limit") && lines[2].contains(" - "), "{text}");
    }

    #[test]
    fn a_work_of_single_operations_has_their_quantiles() {
        let work = chosen(&["kick".to_owned()]).unwrap()[0];
        let mut timed = cell("ours", 0, 100);
        timed.latency_ms = crate::stats::Latency::of(vec![1.0, 2.0, 9.0]);
        let text = work_table(work, &[timed]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("p50 ms") && lines[0].contains("p99 ms") && !lines[0].contains("jobs/s"), "{text}");
        assert!(lines[1].contains(" 2.00 ") && lines[1].contains(" 8.86"), "{text}");
    }

    #[test]
    fn who_says_what_it_is_has_a_line_and_less_work_is_said() {
        let mut cells = [cell("ours", 0, 1_000), cell("river", 0, 500)];
        assert_eq!(introductions(&cells), "");
        let introduction =
            Introduction { version: Some("river 0.43".to_owned()), settings: Some("2,000 workers".to_owned()) };
        cells[1].introduction = introduction;
        assert_eq!(introductions(&cells), "  river: river 0.43; only 500 jobs; 2,000 workers\n");
    }

    #[test]
    fn a_verdict_says_met_missed_or_not_in_this_run() {
        let work = chosen(&["drain".to_owned()]).unwrap()[0];
        let cells = [cell("ours", 0, 700), cell("limit", 0, 1_000)];
        let of_drain = TARGETS.iter().filter(|target| target.key == "drain");
        let verdicts: Vec<_> = of_drain.map(|target| target.judge(work, &cells)).collect();
        let text = verdict_table(&verdicts);
        assert!(text.contains(">= 0.8") && text.contains("MISSED") && text.contains("0.70"), "{text}");
        assert!(text.contains("peers") && text.contains("not in this run"), "{text}");
    }
}
