//! A run as a page of the documentation: what people wrote into it stays, what stands between the two marks is this run.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use chrono::{DateTime, Utc};

use super::plot::{self, Bar};
use super::{Run, process, table};
use crate::measure::{Cell, Measure};
use crate::stats::Spread;
use crate::targets::{Verdict, figures};
use crate::works::{OURS, Work};

/// The project's documentation.
pub(super) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");
const PAGE: &str = "performance.md";
/// Beside the page: the pictures.
const PICTURES: &str = "performance";
const BEGIN: &str = "<!-- measured: from here to the next mark `cargo xtask bench --write` writes -->";
const END: &str = "<!-- measured: end -->";
const HEADING: &str = "# Performance\n\n";

/// Writes page and pictures.
pub(super) fn write(folder: &Path, run: &Run, verdicts: &[Verdict]) -> anyhow::Result<()> {
    let (page, pictures) = (folder.join(PAGE), folder.join(PICTURES));
    fs::create_dir_all(&pictures).with_context(|| format!("make {}", pictures.display()))?;
    let mut measured = format!("{}\n{}", circumstances(run), targets(verdicts));
    for (work, cells) in &run.works {
        measured += &section(work, cells);
        if let Some(picture) = picture(work, cells)? {
            let name = format!("{}.svg", work.key);
            fs::write(pictures.join(&name), picture)?;
            writeln!(measured, "\n![{}]({PICTURES}/{name})", work.key)?;
        }
    }
    let before = if page.exists() { fs::read_to_string(&page)? } else { format!("{HEADING}{BEGIN}\n{END}\n") };
    let text = renewed(&before, &measured).with_context(|| format!("{} has not both marks", page.display()))?;
    fs::write(&page, text).with_context(|| format!("write {}", page.display()))
}

/// The page with this between its marks; `None` where they are not both there.
fn renewed(page: &str, measured: &str) -> Option<String> {
    let (head, rest) = page.split_once(BEGIN)?;
    let (_, foot) = rest.split_once(END)?;
    Some(format!("{head}{BEGIN}\n\n{}\n\n{END}{foot}", measured.trim()))
}

fn circumstances(run: &Run) -> String {
    let part = if (run.scale - 1.0).abs() < 1e-9 { String::new() } else { format!(", at scale {}", run.scale) };
    let day = DateTime::<Utc>::from(run.began).format("%Y-%m-%d");
    let machine = process::machine().map(|machine| format!(" {machine}.")).unwrap_or_default();
    format!("{day}. {}.{machine} {} rounds at most{part}.\n", run.server, run.pairs)
}

fn targets(verdicts: &[Verdict]) -> String {
    let met = |met: bool| verdicts.iter().filter(|verdict| verdict.met == Some(met)).count();
    let absent = verdicts.iter().filter(|verdict| verdict.met.is_none()).count();
    let head = ["target", "work", "against", "ours", "theirs", "value", "quartiles", "bound", ""];
    let lines = verdicts.iter().map(|verdict| line(&table::verdict_line(verdict)));
    format!(
        "## Targets\n\n{} met, {} missed, {absent} not in this run. The value is the median of the ratios within each round, or of the figure \
         itself where it is held against nothing.\n\n{}",
        met(true),
        met(false),
        titled(&head.map(str::to_owned), lines)
    )
}

fn section(work: &Work, cells: &[Cell]) -> String {
    let columns: Vec<_> = table::columns(work).collect();
    let head = [String::new(), "n".to_owned(), table::heading(work), "quartiles".to_owned()];
    let head: Vec<_> = head.into_iter().chain(columns.iter().map(|(heading, _)| (*heading).to_owned())).collect();
    let lines = table::sides(cells).into_iter().map(|side| {
        let spread = |measure| spread(work, cells, side, measure);
        let first = spread(work.figure);
        let quartiles = first.map(|it| format!("{}..{}", table::figure(it.q1), table::figure(it.q3)));
        let count = first.map_or(0, |it| it.n).to_string();
        let known = [side.to_owned(), count, table::median(first), quartiles.unwrap_or_default()];
        let others = columns.iter().map(|(_, measure)| table::median(spread(*measure)));
        line(&known.into_iter().chain(others).collect::<Vec<_>>())
    });
    let introductions: String = table::introductions(cells)
        .lines()
        .fold(String::new(), |text, introduction| text + "- " + introduction.trim() + "\n");
    let introductions = if introductions.is_empty() { introductions } else { format!("\n{introductions}") };
    format!("\n## `{}`: {}\n\n{}{introductions}", work.key, work.what, titled(&head, lines))
}

fn spread(work: &Work, cells: &[Cell], side: &str, measure: Measure) -> Option<Spread> {
    Spread::of(figures(cells, side, measure, work.unit).into_iter().map(|(_, figure)| figure))
}

fn titled(head: &[String], lines: impl Iterator<Item = String>) -> String {
    let ruler = format!("|{}\n", "---|".repeat(head.len()));
    std::iter::once(line(head)).chain([ruler]).chain(lines).collect()
}

fn line(columns: &[String]) -> String {
    format!("| {} |\n", columns.join(" | "))
}

/// Bars where several took part, and a line of the steps where only one did.
fn picture(work: &Work, cells: &[Cell]) -> anyhow::Result<Option<String>> {
    let sides = table::sides(cells);
    let title = format!("{}, {}", work.key, table::heading(work));
    if sides.len() < 2 {
        let steps = steps(cells);
        // Two make no line.
        return (steps.len() > 2).then(|| plot::line(&title, "fifth of the work", &steps)).transpose();
    }
    let bar = |side: &str| {
        let value = spread(work, cells, side, work.figure)?.median;
        let (name, label) = (side.to_owned(), table::figure(value));
        Some(Bar { name, value, label, ours: side == OURS })
    };
    let bars: Vec<_> = sides.into_iter().filter_map(bar).collect();
    (!bars.is_empty()).then(|| plot::bars(&title, &bars)).transpose()
}

/// The median of each step.
fn steps(cells: &[Cell]) -> Vec<f64> {
    let most = cells.iter().map(|cell| cell.done.steps.len()).max().unwrap_or(0);
    let step = |step: usize| Spread::of(cells.iter().filter_map(|cell| cell.done.steps.get(step).copied()));
    (0..most).filter_map(step).map(|step| step.median).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::tests::cell;
    use crate::works::chosen;

    #[test]
    fn what_people_wrote_stays_and_what_was_measured_is_replaced() {
        let page = format!("# Performance\n\nSaid by people.\n\n{BEGIN}\nold\n{END}\n\n## Found\n");
        let once = renewed(&page, "new\n").unwrap();
        assert!(once.starts_with("# Performance\n\nSaid by people.\n") && once.ends_with("\n\n## Found\n"), "{once}");
        assert!(once.contains("\nnew\n") && !once.contains("old"), "{once}");
        assert_eq!(renewed(&once, "new\n").unwrap(), once);
        assert_eq!(renewed("# Performance\n", "new"), None);
    }

    #[test]
    fn a_page_has_the_targets_and_each_work_with_its_picture() {
        let folder = std::env::temp_dir().join(format!("outbox-bench-pages-{}", std::process::id()));
        let works = chosen(&["drain".to_owned(), "drain_1m".to_owned()]).unwrap();
        let mut long = cell("ours", 0, 900);
        long.done.steps = vec![5.0, 4.0, 4.5];
        let of_drain = vec![cell("ours", 0, 900), cell("limit", 0, 1_000)];
        let run = Run { works: works.into_iter().zip([of_drain, vec![long]]).collect(), ..Run::default() };
        write(&folder, &run, &run.verdicts()).unwrap();
        let page = fs::read_to_string(folder.join(PAGE)).unwrap();
        let pictures = ["drain.svg", "drain_1m.svg"].map(|name| fs::read_to_string(folder.join(PICTURES).join(name)));
        fs::remove_dir_all(&folder).unwrap();
        assert!(
            page.contains("1970-01-01. PostgreSQL.") && page.contains("| drain | drain | limit | 900 | 1,000 |"),
            "{page}"
        );
        assert!(page.contains("## `drain`:") && page.contains("![drain](performance/drain.svg)"), "{page}");
        assert!(pictures.into_iter().all(|picture| picture.unwrap().contains("</svg>")));
    }
}
