//! `cargo xtask test --matrix`: the suite on every version of PostgreSQL that the engine runs on, and through PgBouncer.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use outbox_testing::server::{Options, Pooler, Server, ServerError, URL_VARIABLES};

use super::libtest::Counts;
use super::run::Run;
use super::{build, cargo_test, stream};
use crate::Outcome;
use crate::arguments::{take_flag, take_value};
use crate::artifacts::Artifact;

/// Every major version that the engine runs on.
const VERSIONS: [u32; 5] = [14, 15, 16, 17, 18];

/// Leads the tests' outboxes through a pooler.
const POOLER: &str = "OUTBOX_TEST_POOLER_URL";

/// One surrounding of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Version(u32),
    /// PgBouncer in transaction mode, before this version.
    Pooled(u32),
}

/// What the suite came to in one surrounding.
enum Cell {
    Ran { name: String, run: Run, in_order: bool, took: Duration },
    NotObtained { name: String, reason: String },
}

/// Runs the columns one behind the other, and prints a line for each at the end.
pub(super) fn command(mut arguments: Vec<String>) -> Outcome {
    let columns = columns(take_value(&mut arguments, "--versions")?.as_deref())?;
    let may_be_missing = take_flag(&mut arguments, "--allow-missing");
    let artifacts = build(&arguments)?;
    let mut cells = Vec::new();
    for column in columns {
        println!("\n==> {column}");
        cells.push(cell(column, &arguments, &artifacts)?);
    }
    print(&cells);
    let is_well = cells.iter().all(|cell| cell.is_well(may_be_missing));
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// All, or those of `14,17,pgbouncer`. The pooler stands before the newest.
fn columns(said: Option<&str>) -> Result<Vec<Column>, String> {
    let newest = VERSIONS[VERSIONS.len() - 1];
    let Some(said) = said else {
        return Ok(VERSIONS.into_iter().map(Column::Version).chain([Column::Pooled(newest)]).collect());
    };
    let column =
        |word: &str| {
            match word.trim() {
        "pgbouncer" => Ok(Column::Pooled(newest)),
        number => number.parse().ok().filter(|number| VERSIONS.contains(number)).map(Column::Version).ok_or_else(|| {
            format!("`--versions` takes some of {VERSIONS:?} and `pgbouncer`, with commas between them, not `{number}`")
        }),
    }
        };
    said.split(',').map(column).collect()
}

fn cell(column: Column, arguments: &[String], artifacts: &[Artifact]) -> Result<Cell, Box<dyn Error>> {
    let (server, pooler) = match start(column) {
        Ok(started) => started,
        Err(error) => return Ok(Cell::NotObtained { name: column.to_string(), reason: error.to_string() }),
    };
    let version = server.version().unwrap_or("of an unknown version");
    let name = match &pooler {
        Some(pooler) => format!("PgBouncer {} before PostgreSQL {version}", pooler.version()),
        None => format!("PostgreSQL {version}"),
    };
    let mut tests = cargo_test(&[], arguments);
    // Tests that start servers of their own take the same version.
    tests.env("OUTBOX_PG_VERSION", column.version().to_string()).env_remove("OUTBOX_PG_BIN");
    tests.env(URL_VARIABLES[0], server.url()).env_remove(POOLER);
    if let Some(pooler) = &pooler {
        tests.env(POOLER, pooler.url());
    }
    let begun = Instant::now();
    let (status, sections) = stream::run(&mut tests, artifacts)?;
    Ok(Cell::Ran { name, run: Run::new(sections), in_order: status.success(), took: begun.elapsed() })
}

fn start(column: Column) -> Result<(Server, Option<Pooler>), ServerError> {
    let major = Some(column.version());
    let server = Server::start(&Options { major, ..Options::default() })?;
    let pooler = match column {
        Column::Version(_) => None,
        Column::Pooled(_) => Some(Pooler::start(&server)?),
    };
    Ok((server, pooler))
}

impl Column {
    fn version(self) -> u32 {
        match self {
            Self::Version(version) | Self::Pooled(version) => version,
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "PostgreSQL {version}"),
            Self::Pooled(version) => write!(f, "PgBouncer before PostgreSQL {version}"),
        }
    }
}

impl Cell {
    fn is_well(&self, may_be_missing: bool) -> bool {
        match self {
            Self::Ran { run, in_order, .. } => *in_order && run.totals().failed == 0,
            Self::NotObtained { .. } => may_be_missing,
        }
    }

    /// One line, and below it what failed or was skipped, by name.
    fn lines(&self) -> Vec<String> {
        match self {
            Self::NotObtained { name, reason } => vec![format!("{name}: not run, it could not be obtained: {reason}")],
            Self::Ran { name, run, in_order, took } => {
                let Counts { passed, failed, ignored } = run.totals();
                let skipped: Vec<_> = run.skipped().collect();
                let (passed, skips) = (passed - skipped.len() as u64, ignored + skipped.len() as u64);
                let mut lines =
                    vec![format!("{name}: {passed} passed, {failed} failed, {skips} skipped, in {} s", took.as_secs())];
                lines.extend(run.failed().map(|test| format!("    failed {test}")));
                lines.extend(skipped.iter().map(|skip| format!("    skipped {skip}")));
                if !in_order && failed == 0 {
                    lines.push("    cargo ended with an error".to_owned());
                }
                lines
            }
        }
    }
}

fn print(cells: &[Cell]) {
    println!("\nmatrix");
    for line in cells.iter().flat_map(Cell::lines) {
        println!("  {line}");
    }
    let ran = cells.iter().filter_map(|cell| match cell {
        Cell::Ran { run, .. } => Some(run.totals()),
        Cell::NotObtained { .. } => None,
    });
    let totals = ran.fold(Counts::default(), Counts::plus);
    println!("{} passed, {} failed", totals.passed, totals.failed);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Cell, Column, columns};
    use crate::test::libtest::{Counts, Section, Verdict};
    use crate::test::run::Run;

    /// Every version and the pooler, unless some are asked for; a word that is none of them is refused.
    #[test]
    fn columns_are_all_or_those_asked_for() {
        assert_eq!(columns(None).map(|all| all.len()), Ok(6));
        assert_eq!(columns(Some("14, pgbouncer")), Ok(vec![Column::Version(14), Column::Pooled(18)]));
        assert!(columns(Some("13")).is_err_and(|error| error.contains("`13`")));
    }

    fn ran(failed: u64, skipped: &[&str]) -> Cell {
        let section = Section {
            binary: "outbox::engine".to_owned(),
            root: None,
            tests: vec![("wake::a".to_owned(), if failed > 0 { Verdict::Failed } else { Verdict::Passed })],
            skipped: skipped.iter().map(|skip| (*skip).to_owned()).collect(),
            counts: Some(Counts { passed: 3 - failed, failed, ignored: 0 }),
        };
        let (name, took) = ("PostgreSQL 14.23".to_owned(), Duration::from_secs(61));
        Cell::Ran { name, run: Run::new(vec![section]), in_order: failed == 0, took }
    }

    /// A line counts what passed, failed and was skipped, and names the latter two.
    #[test]
    fn a_line_says_what_failed_and_what_was_skipped() {
        let lines = ran(1, &["wake::b: nobody listens"]).lines();
        assert_eq!(lines[0], "PostgreSQL 14.23: 1 passed, 1 failed, 1 skipped, in 61 s");
        assert_eq!(
            lines[1..],
            ["    failed outbox::engine wake::a", "    skipped outbox::engine wake::b: nobody listens"]
        );
    }

    /// The command fails for a failed test, and for a version that is missing unless that is allowed.
    #[test]
    fn what_is_missing_fails_unless_it_may() {
        assert!(ran(0, &[]).is_well(false));
        assert!(!ran(1, &[]).is_well(true));
        let missing = Cell::NotObtained { name: "PostgreSQL 18".to_owned(), reason: "no network".to_owned() };
        assert!(!missing.is_well(false));
        assert!(missing.is_well(true));
        assert_eq!(missing.lines(), ["PostgreSQL 18: not run, it could not be obtained: no network"]);
    }
}
