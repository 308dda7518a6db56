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
        } else if line == "failures:" && self.has_failures() {
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

    /// Without a failure nothing is replayed, and the word is what a program printed that a test started.
    fn has_failures(&self) -> bool {
        let failed = |section: &Section| section.tests.iter().any(|(_, verdict)| *verdict == Verdict::Failed);
        // The tests in documentation come in several parts, each with its sum.
        self.sections.last().is_some_and(failed)
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
            passed: self.passed.saturating_add(other.passed),
            failed: self.failed.saturating_add(other.failed),
            ignored: self.ignored.saturating_add(other.ignored),
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
    use proptest::prelude::*;

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

    /// A program that a test starts prints past the capture, and may print what looks like the runner's words.
    #[test]
    fn nothing_is_replayed_before_a_failure() {
        let sections = read(
            "Running tests/engine/main.rs (target/debug/deps/engine-0123)\ntest a ... ok\nfailures:\ntest b ... ok\n\
             test result: ok. 18446744073709551615 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s\n\
             test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s\n",
        );
        assert_eq!(sections[0].tests.len(), 2);
        assert_eq!(sections[0].counts.map(|counts| counts.passed), Some(u64::MAX), "a sum that no run has is no panic");
    }

    /// What the runner of this very toolchain prints is read in full.
    #[test]
    fn a_real_run_is_read_in_full() {
        let program = std::env::current_exe().expect("this program");
        for threads in ["1", "4"] {
            let mut run = std::process::Command::new(&program);
            run.args(["arguments::", "--test-threads", threads]).env("PROPTEST_CASES", "4");
            let output = run.output().expect("it runs");
            let text = String::from_utf8(output.stdout).expect("text");
            let sections = read(&format!("Running tests/engine/main.rs (target/debug/deps/engine-0123)\n{text}"));
            let passed = sections[0].tests.iter().filter(|(_, verdict)| *verdict == Verdict::Passed).count();
            assert!(passed >= 3 && passed == sections[0].tests.len(), "{text}");
            assert!(sections[0].tests.iter().all(|(name, _)| name.starts_with("arguments::tests::")), "{text}");
            assert_eq!(sections[0].counts, Some(Counts { passed: passed as u64, failed: 0, ignored: 0 }), "{text}");
        }
    }

    fn verdicts() -> impl Strategy<Value = Verdict> {
        prop_oneof![4 => Just(Verdict::Passed), 1 => Just(Verdict::Failed), 1 => Just(Verdict::Ignored)]
    }

    /// A run's tests, and what is printed beside each: between its name and its result with one thread, before it with several.
    fn runs() -> impl Strategy<Value = Vec<(String, Verdict, Option<String>)>> {
        let name = "[a-z][a-z0-9_]{0,5}(::[a-z][a-z0-9_]{0,5}){0,2}";
        // Not the runner's own words, which nobody could tell from the runner's.
        let noise = prop::option::of(".{0,20}").prop_map(|noise| noise.map(|noise| format!("| {noise}")));
        prop::collection::vec((name, verdicts(), noise), 0..12)
    }

    proptest! {
        /// Every result is read, whatever the tests print beside it, and what is replayed behind the failures is not read again.
        #[test]
        fn runs_are_read_in_full(run in runs(), one_thread in any::<bool>()) {
            let mut output = "     Running tests/engine/main.rs (target/debug/deps/engine-0123)\n\nrunning tests\n".to_owned();
            let of = |wanted| run.iter().filter(|(_, verdict, _)| *verdict == wanted).count() as u64;
            for (name, verdict, noise) in &run {
                let word = match verdict {
                    Verdict::Passed => "ok",
                    Verdict::Failed => "FAILED",
                    Verdict::Ignored => "ignored, slow",
                };
                let lines = match noise {
                    Some(noise) if one_thread => format!("test {name} ... \n{noise}\n{word}\n"),
                    Some(noise) => format!("{noise}\ntest {name} ... {word}\n"),
                    None => format!("test {name} ... {word}\n"),
                };
                output.push_str(&lines);
            }
            let counts = Counts { passed: of(Verdict::Passed), failed: of(Verdict::Failed), ignored: of(Verdict::Ignored) };
            if counts.failed > 0 {
                output += "\nfailures:\n\n---- a stdout ----\ntest replayed ... ok\nskipped a: b\n\nfailures:\n    a\n";
            }
            let word = if counts.failed > 0 { "FAILED" } else { "ok" };
            let sum = format!(
                "\ntest result: {word}. {} passed; {} failed; {} ignored; 0 measured; 0 filtered out; finished in 0.10s\n",
                counts.passed, counts.failed, counts.ignored,
            );
            output.push_str(&sum);
            let sections = read(&output);
            let expected: Vec<_> = run.into_iter().map(|(name, verdict, _)| (name, verdict)).collect();
            prop_assert_eq!(&sections[0].tests, &expected, "{}", output);
            prop_assert_eq!(sections[0].counts, Some(counts));
            prop_assert_eq!(&sections[0].skipped, &Vec::<String>::new());
        }

        /// No output at all makes the reader panic.
        #[test]
        fn any_output_is_read(lines in prop::collection::vec(
            "Running .{0,9}|Running [a-z(/]{0,5}\\(.{0,5}engine-0123\\)|Doc-tests .{0,9}|test .{0,9} \\.\\.\\..{0,9}|failures:|skipped .{0,9}|ok|FAILED\
             |test result: [A-Za-z]{0,6}\\. [0-9]{0,21} passed; [0-9]{1,21} failed; [0-9]{1,21} ignored;.{0,9}|.{0,30}", 0..16,
        )) {
            let _ = read(&lines.join("\n"));
        }
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
