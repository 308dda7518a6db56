//! Reads what cargo and the test programs print: which program runs, each test's result, each program's own sum.

use std::path::Path;

use crate::artifacts::Artifact;
use crate::workspace::relative;

/// What became of one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// It is marked `#[ignore]` and was not run.
    Ignored,
}

/// How many tests ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Passed.
    pub(crate) passed: u64,
    /// Failed.
    pub(crate) failed: u64,
    /// Not run, as they are marked `#[ignore]`.
    pub(crate) ignored: u64,
}

/// One test program's part of the output.
#[derive(Debug, PartialEq)]
pub(crate) struct Section {
    /// As [`Artifact::id`], or `doc-tests of crate`.
    pub(crate) binary: String,
    /// The first source file, from the top folder; none for the tests in documentation.
    pub(crate) root: Option<String>,
    /// Each test by the name that the program gives it.
    pub(crate) tests: Vec<(String, Verdict)>,
    /// What passed without showing anything here, as the tests say themselves: `name: why`.
    pub(crate) skipped: Vec<String>,
    /// The program's own sums, added up (documentation tests print several); `None` when it ended without one.
    pub(crate) counts: Option<Counts>,
}

/// Reads line by line.
pub(super) struct Reader<'a> {
    artifacts: &'a [Artifact],
    sections: Vec<Section>,
    /// A name whose result has not come yet, as with one test thread.
    pending: Option<String>,
    /// After `failures:` comes what failed tests printed, which may look like results.
    replaying: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(artifacts: &'a [Artifact]) -> Self {
        Self { artifacts, sections: Vec::new(), pending: None, replaying: false }
    }

    pub(super) fn finish(self) -> Vec<Section> {
        self.sections
    }

    pub(super) fn line(&mut self, line: &str) {
        let line = line.trim();
        if let Some(section) = self.heading(line) {
            self.sections.push(section);
            self.pending = None;
            self.replaying = false;
        } else if let Some(counts) = counts(line) {
            self.sum_up(counts);
        } else if let Some(skipped) = line.strip_prefix("skipped ").filter(|_| !self.replaying) {
            self.sections.last_mut().into_iter().for_each(|section| section.skipped.push(skipped.to_owned()));
        } else if line == "failures:" {
            self.replaying = true;
        } else if !self.replaying {
            self.result(line);
        }
    }

    /// `Running tests/server/main.rs (target/debug/deps/server-0123)` or `Doc-tests outbox_core`.
    fn heading(&self, line: &str) -> Option<Section> {
        if let Some(name) = line.strip_prefix("Doc-tests ") {
            return Some(section(format!("doc-tests of {name}"), None));
        }
        let (_, executable) = line.strip_prefix("Running ")?.strip_suffix(')')?.rsplit_once('(')?;
        // By its last part, which carries a hash: cargo shortens the path where it can.
        let name = Path::new(executable).file_name();
        let artifact = self.artifacts.iter().find(|artifact| artifact.executable.file_name() == name)?;
        Some(section(artifact.id.clone(), Some(relative(&artifact.root))))
    }

    fn sum_up(&mut self, counts: Counts) {
        if let Some(section) = self.sections.last_mut() {
            section.counts = Some(section.counts.unwrap_or_default().plus(counts));
        }
        self.replaying = false;
    }

    fn result(&mut self, line: &str) {
        let (name, rest) = match line.strip_prefix("test ").and_then(|line| line.rsplit_once(" ...")) {
            Some((name, rest)) => (Some(test_name(name)), rest),
            None => (self.pending.clone(), line),
        };
        let Some(name) = name.filter(|name| self.may_be_named(name)) else {
            return;
        };
        self.pending = match (verdict(rest.trim()), self.sections.last_mut()) {
            (Some(verdict), Some(section)) => {
                section.tests.push((name, verdict));
                None
            }
            _ => Some(name),
        };
    }

    /// Trybuild prints `test tests/ui/case.rs ... ok` past the capture of the one test that it is part of.
    fn may_be_named(&self, name: &str) -> bool {
        self.sections.last().is_some_and(|section| section.root.is_none() || !name.contains('/'))
    }
}

impl Counts {
    /// The sum of both.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            ignored: self.ignored + other.ignored,
        }
    }
}

fn section(binary: String, root: Option<String>) -> Section {
    Section { binary, root, tests: Vec::new(), skipped: Vec::new(), counts: None }
}

/// Without what the runner adds to the path.
fn test_name(name: &str) -> String {
    name.trim().strip_suffix(" - should panic").unwrap_or(name.trim()).to_owned()
}

/// `ignored` may carry a reason.
fn verdict(text: &str) -> Option<Verdict> {
    match text.split(',').next()? {
        "ok" => Some(Verdict::Passed),
        "FAILED" => Some(Verdict::Failed),
        "ignored" => Some(Verdict::Ignored),
        _ => None,
    }
}

/// `test result: ok. 13 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s`.
fn counts(line: &str) -> Option<Counts> {
    let (_, sums) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let sum = |what: &str| sums.split("; ").find_map(|part| part.strip_suffix(what)?.trim().parse().ok());
    Some(Counts { passed: sum("passed")?, failed: sum("failed")?, ignored: sum("ignored")? })
}

#[cfg(test)]
mod tests {
    use super::{Counts, Reader, Section, Verdict};
    use crate::artifacts::Artifact;
    use crate::workspace::root;

    fn read(output: &str) -> Vec<Section> {
        let artifacts = [Artifact {
            id: "outbox::engine".to_owned(),
            root: root().join("tests/engine/main.rs"),
            executable: "/w/target/debug/deps/engine-0123".into(),
        }];
        let mut reader = Reader::new(&artifacts);
        output.lines().for_each(|line| reader.line(line));
        reader.finish()
    }

    /// Names, results and sums are read under the heading of their program.
    #[test]
    fn reads_results_and_sums() {
        let sections = read(
            "     Running tests/engine/main.rs (target/debug/deps/engine-0123)\n\nrunning 4 tests\n\
             test publish::a ... ok\ntest publish::b - should panic ... FAILED\ntest c ... ignored, slow\n\
             test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s\n",
        );
        let [section] = sections.as_slice() else { panic!("one program") };
        assert_eq!(section.binary, "outbox::engine");
        assert_eq!(section.root.as_deref(), Some("tests/engine/main.rs"));
        assert_eq!(
            section.tests,
            [
                ("publish::a".to_owned(), Verdict::Passed),
                ("publish::b".to_owned(), Verdict::Failed),
                ("c".to_owned(), Verdict::Ignored),
            ]
        );
        assert_eq!(section.counts, Some(Counts { passed: 1, failed: 1, ignored: 1 }));
    }

    /// A result that comes lines after its name, with other output between, is still that test's result.
    #[test]
    fn reads_a_result_that_comes_late() {
        let sections = read(
            "Running tests/engine/main.rs (target/debug/deps/engine-0123)\ntest ui ... \n\
             test tests/ui/case.rs ... mismatch\nsome text\nok\ntest next ... ok\n",
        );
        let names: Vec<_> = sections[0].tests.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["ui", "next"]);
    }

    /// What a test says that it skips is kept with its program, also between a name and its result.
    #[test]
    fn reads_what_is_skipped() {
        let sections = read(
            "Running tests/engine/main.rs (target/debug/deps/engine-0123)\ntest wake::a ... \nskipped wake::a: nobody listens\nok\n",
        );
        assert_eq!(sections[0].skipped, ["wake::a: nobody listens"]);
        assert_eq!(sections[0].tests, [("wake::a".to_owned(), Verdict::Passed)]);
    }

    /// What a failed test printed is not taken for results.
    #[test]
    fn replayed_output_is_no_result() {
        let sections = read(
            "Running tests/engine/main.rs (target/debug/deps/engine-0123)\ntest a ... FAILED\n\nfailures:\n\n\
             ---- a stdout ----\ntest b ... ok\n\n\
             test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s\n",
        );
        assert_eq!(sections[0].tests, [("a".to_owned(), Verdict::Failed)]);
    }

    /// Documentation tests print one sum a program they are merged into; the sums are added.
    #[test]
    fn adds_the_sums_of_documentation_tests() {
        let sum = "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s\n";
        let sections = read(&format!("   Doc-tests outbox_core\n{sum}{sum}"));
        assert_eq!(sections[0].binary, "doc-tests of outbox_core");
        assert_eq!(sections[0].counts, Some(Counts { passed: 4, failed: 0, ignored: 2 }));
    }

    /// A program that ends without its sum, as a crashed one does, is seen to have none.
    #[test]
    fn a_crash_has_no_sum() {
        let sections = read("Running tests/engine/main.rs (target/debug/deps/engine-0123)\ntest a ... ok\n");
        assert_eq!(sections[0].counts, None);
    }
}
