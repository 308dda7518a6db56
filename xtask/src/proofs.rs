//! `cargo xtask proofs`: which test proves which requirement, and whether it passes.
//!
//! A test says what it proves in the documentation directly above it, by number: `S0-23` for a requirement, `Q13`,
//! `O25` or `B9b` for a case. `docs/proofs.txt` lists the numbers that the project claims to have proven.

mod claims;
mod modules;
mod numbers;
mod source;
mod table;
mod tokens;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use crate::Outcome;
use crate::arguments::take_flag;
use crate::test::run::{self, TestResult};
use crate::workspace;
use modules::Marked;
use numbers::Number;

/// One test that names a number.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Proof {
    /// `binary::module::name`.
    test: String,
    /// `passed`, `failed`, `ignored` or `not run`.
    result: String,
}

/// All tests that name a number, for each number.
type Proofs = BTreeMap<Number, Vec<Proof>>;

/// Runs the tests unless `--last` is given, then prints the table and checks the claims.
pub(crate) fn command(mut arguments: Vec<String>) -> Outcome {
    let tests = if take_flag(&mut arguments, "--last") { ExitCode::SUCCESS } else { crate::test::run_all(&arguments)? };
    let marked = marked()?;
    let ranges = marked.iter().filter(|marked| marked.has_range()).count();
    let proofs = proofs(&marked, &run::read()?);
    table::print(&proofs);
    let claimed = claims::read(&workspace::root().join("docs/proofs.txt"))?;
    let unproven = claims::unproven(&claimed, &proofs);
    println!("\n{} numbers named by tests, {} claimed, {} unproven", proofs.len(), claimed.len(), unproven.len());
    for reason in &unproven {
        println!("  {reason}");
    }
    for marked in marked.iter().filter(|marked| marked.has_range()) {
        println!("  `{}` in {} names a range; name each number", marked.test, marked.file);
    }
    Ok(if unproven.is_empty() && ranges == 0 { tests } else { ExitCode::FAILURE })
}

/// The tests of all programs of the workspace's packages.
fn marked() -> Result<Vec<Marked>, Box<dyn Error>> {
    let metadata = workspace::metadata()?;
    let packages = metadata["packages"].as_array().ok_or("cargo names no packages")?;
    let targets = packages.iter().flat_map(|package| package["targets"].as_array().into_iter().flatten());
    let roots = targets.filter_map(|target| target["src_path"].as_str());
    Ok(roots.flat_map(|root| modules::marked(Path::new(root))).collect())
}

/// Joins what the sources say with what the run gave.
fn proofs(marked: &[Marked], results: &[TestResult]) -> Proofs {
    let mut proofs = Proofs::new();
    for test in marked {
        for number in &test.numbers() {
            proofs.entry(number.clone()).or_default().push(proof(test, results));
        }
    }
    proofs
}

fn proof(test: &Marked, results: &[TestResult]) -> Proof {
    let ran = results.iter().find(|result| result.root == test.root && result.test == test.test);
    match ran {
        Some(ran) => Proof { test: format!("{}::{}", ran.binary, ran.test), result: ran.result.clone() },
        None => Proof { test: format!("{} ({})", test.test, test.file), result: "not run".to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::modules::Marked;
    use super::proofs;
    use crate::test::run::TestResult;

    fn marked(root: &str) -> Marked {
        let owned = str::to_owned;
        Marked { root: owned(root), file: owned("f.rs"), test: owned("publish::a"), docs: owned("Proves S0-1.") }
    }

    /// A result counts for the test of that path in that program, and not for its namesake in another.
    #[test]
    fn results_are_matched_by_program_and_path() {
        let owned = str::to_owned;
        let results = [TestResult {
            binary: owned("outbox::engine"),
            root: owned("tests/engine/main.rs"),
            test: owned("publish::a"),
            result: owned("passed"),
        }];
        let proofs = proofs(&[marked("tests/engine/main.rs"), marked("tests/other/main.rs")], &results);
        let rows: Vec<_> =
            proofs.values().flatten().map(|proof| (proof.test.as_str(), proof.result.as_str())).collect();
        assert_eq!(rows, [("outbox::engine::publish::a", "passed"), ("publish::a (f.rs)", "not run")]);
    }
}
