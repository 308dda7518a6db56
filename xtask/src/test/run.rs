//! One run of all tests, and the file that keeps it for `cargo xtask proofs --last`.

use std::error::Error;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::libtest::{Counts, Section, Verdict};
use crate::workspace;

/// What every test program reported.
#[derive(Debug)]
pub(crate) struct Run {
    /// In the order they ran.
    pub(super) sections: Vec<Section>,
}

/// One test's result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TestResult {
    /// The test program.
    pub(crate) binary: String,
    /// Its first source file, from the top folder; empty for tests in documentation.
    pub(crate) root: String,
    /// The test's path below the program.
    pub(crate) test: String,
    /// `passed`, `failed` or `ignored`.
    pub(crate) result: String,
}

impl Run {
    pub(super) fn new(sections: Vec<Section>) -> Self {
        Self { sections }
    }

    /// Over all programs. One that ended without its sum counts as one failure, beside the results that it gave.
    pub(super) fn totals(&self) -> Counts {
        self.sections.iter().map(Section::totals).fold(Counts::default(), Counts::plus)
    }

    /// The tests that failed, with their programs.
    pub(super) fn failed(&self) -> impl Iterator<Item = String> + '_ {
        self.sections.iter().flat_map(|section| {
            let failed = section.tests.iter().filter(|(_, verdict)| *verdict == Verdict::Failed);
            failed.map(|(test, _)| format!("{} {test}", section.binary))
        })
    }

    /// The tests that skipped themselves, with their programs and reasons.
    pub(super) fn skipped(&self) -> impl Iterator<Item = String> + '_ {
        let of = |section: &'_ Section| {
            section.skipped.iter().map(|skip| format!("{} {skip}", section.binary)).collect::<Vec<_>>()
        };
        self.sections.iter().flat_map(of)
    }

    /// Writes the results as a list of `{binary, root, test, result}`.
    pub(super) fn write(&self) -> Result<(), Box<dyn Error>> {
        let file = file()?;
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let list: Vec<Value> = self.sections.iter().flat_map(Section::results).collect();
        Ok(std::fs::write(file, serde_json::to_string_pretty(&list)?)?)
    }
}

impl Section {
    pub(super) fn totals(&self) -> Counts {
        let of = |wanted| self.tests.iter().filter(|(_, verdict)| *verdict == wanted).count() as u64;
        self.counts.unwrap_or_else(|| Counts {
            passed: of(Verdict::Passed),
            failed: of(Verdict::Failed) + 1,
            ignored: of(Verdict::Ignored),
        })
    }

    fn results(&self) -> impl Iterator<Item = Value> + '_ {
        self.tests.iter().map(|(test, verdict)| {
            json!({ "binary": self.binary, "root": self.root, "test": test, "result": word(*verdict) })
        })
    }
}

/// The results of the last run.
pub(crate) fn read() -> Result<Vec<TestResult>, Box<dyn Error>> {
    let file = file()?;
    let text = std::fs::read_to_string(&file)
        .map_err(|error| format!("no last run in `{}` ({error}); leave out `--last`", file.display()))?;
    let list: Vec<Value> = serde_json::from_str(&text)?;
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let result = |entry: &Value| TestResult {
        binary: text(entry, "binary"),
        root: text(entry, "root"),
        test: text(entry, "test"),
        result: text(entry, "result"),
    };
    Ok(list.iter().map(result).collect())
}

fn file() -> Result<PathBuf, Box<dyn Error>> {
    let metadata = workspace::metadata()?;
    let target = metadata["target_directory"].as_str().ok_or("cargo names no target folder")?;
    Ok(PathBuf::from(target).join("outbox/test-run.json"))
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "failed",
        Verdict::Ignored => "ignored",
    }
}

#[cfg(test)]
mod tests {
    use super::Run;
    use crate::test::libtest::{Counts, Section, Verdict};

    /// A program that crashed makes the run fail, although no test of it is known to have failed.
    #[test]
    fn a_crash_is_a_failure() {
        let tests = vec![("a".to_owned(), Verdict::Passed)];
        let run =
            Run::new(vec![Section { binary: "b".to_owned(), root: None, tests, skipped: Vec::new(), counts: None }]);
        assert_eq!(run.totals(), Counts { passed: 1, failed: 1, ignored: 0 });
    }
}
