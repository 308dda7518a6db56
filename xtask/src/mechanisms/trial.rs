//! Runs the tests in the copy, with and without a mechanism.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use outbox_testing::server::URL_VARIABLES;

use super::copy::Copy;
use super::entry::{Edit, Entry};
use crate::child::Running;
use crate::workspace;

/// A test that has not ended by then waits for something that will not come: that is a way to notice too.
const LIMIT: Duration = Duration::from_mins(3);

/// What the test made of it.
pub(crate) enum Noticed {
    /// It failed, and said this.
    Failed(String),
    Passed,
    DidNotBuild,
}

pub(crate) struct Trials {
    copy: Copy,
    server: String,
}

impl Trials {
    pub(crate) fn new(copy: Copy, server: &str) -> Self {
        Self { copy, server: server.to_owned() }
    }

    /// With every mechanism in place each test passes.
    pub(crate) fn baseline(&self, entries: &[Entry]) -> Result<(), Box<dyn Error>> {
        let tests: BTreeSet<_> = entries.iter().map(|entry| &entry.test).collect();
        for test in tests {
            match self.run(test)? {
                Noticed::Passed => {}
                Noticed::DidNotBuild => return Err("the tests do not build".into()),
                Noticed::Failed(message) => {
                    return Err(format!("`{}` fails as it is: {message}", test.join(" ")).into());
                }
            }
        }
        Ok(())
    }

    /// Without this mechanism.
    pub(crate) fn without(&self, entry: &Entry) -> Result<Noticed, Box<dyn Error>> {
        let mut taken = AllTaken(Vec::new());
        for edit in &entry.edits {
            taken.0.push(Taken::out(self.copy.folder.join(&edit.file), edit)?);
        }
        let noticed = self.run(&entry.test)?;
        // A verdict on what somebody changed meanwhile would be one on something else.
        taken.stand()?;
        Ok(noticed)
    }

    fn run(&self, test: &[String]) -> Result<Noticed, Box<dyn Error>> {
        let (name, which) = test.split_last().ok_or("no test is named")?;
        let built = self.cargo(which).arg("--no-run").stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        if !built.success() {
            return Ok(Noticed::DidNotBuild);
        }
        let output = self.copy.target.join("said.txt");
        let mut cargo = self.cargo(which);
        cargo.args(["--", "--exact", name, "--nocapture", "--test-threads=1"]);
        // One file, one position: neither writes over the other.
        let file = File::create(&output)?;
        cargo.env("RUST_BACKTRACE", "0").stdout(file.try_clone()?).stderr(file);
        let status = Running::start(&mut cargo)?.wait_for(LIMIT)?;
        let mut said = Vec::new();
        File::open(&output)?.read_to_end(&mut said)?;
        let said = String::from_utf8_lossy(&said);
        match status {
            None => Ok(Noticed::Failed(format!("no end within {LIMIT:?}"))),
            Some(status) if status.success() && said.contains("1 passed") => Ok(Noticed::Passed),
            Some(status) if status.success() => Err(format!("no test is called `{}`", test.join(" ")).into()),
            Some(_) => Ok(Noticed::Failed(message(&said))),
        }
    }

    fn cargo(&self, which: &[String]) -> Command {
        let mut cargo = workspace::program();
        cargo.current_dir(&self.copy.folder).arg("test").args(which).stdin(Stdio::null());
        cargo.env("CARGO_TARGET_DIR", &self.copy.target).env(URL_VARIABLES[0], &self.server);
        cargo
    }
}

/// What the test said as it failed: the text behind the first line of its panic, in one line.
fn message(said: &str) -> String {
    let mut lines = said.lines().skip_while(|line| !(line.contains("panicked at") && line.contains("thread '")));
    let place = lines.next().unwrap_or("it ended without a panic");
    let text: Vec<_> = lines
        .take_while(|line| !line.starts_with("note: ") && !line.trim().is_empty())
        .take(4)
        .map(str::trim)
        .collect();
    let text = if text.is_empty() { place.to_owned() } else { text.join("; ") };
    // A row of a table is one line, and does nothing to a terminal.
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().take(300).map(shown).collect()
}

/// Put back last first, so that a file which lost two parts gets both back.
struct AllTaken(Vec<Taken>);

impl AllTaken {
    /// Whether each file is still as it was put in; where one lost several parts, the last edit tells.
    fn stand(&self) -> Result<(), Box<dyn Error>> {
        let files: BTreeMap<_, _> = self.0.iter().map(|taken| (&taken.file, &taken.without)).collect();
        for (file, without) in files {
            if std::fs::read_to_string(file)? != *without {
                return Err(format!("{} was changed while the test ran", file.display()).into());
            }
        }
        Ok(())
    }
}

impl Drop for AllTaken {
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}

/// A file without its mechanism, put back on drop.
struct Taken {
    file: PathBuf,
    text: String,
    without: String,
}

impl Taken {
    fn out(file: PathBuf, edit: &Edit) -> Result<Self, Box<dyn Error>> {
        let text = std::fs::read_to_string(&file)?;
        let without = edit.apply(&text)?;
        std::fs::write(&file, &without)?;
        Ok(Self { file, text, without })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Err(error) = std::fs::write(&self.file, &self.text) {
            eprintln!("{} could not be put back: {error}; delete target/outbox/mechanisms", self.file.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::message;

    #[test]
    fn the_message_is_what_the_panic_says() {
        let said = "running 1 test\n\nthread 'a::b' (7) panicked at tests/a.rs:1:2:\nassertion failed\n  left: 1\n right: 2\nnote: run with\n";
        assert_eq!(message(said), "assertion failed; left: 1; right: 2");
        assert_eq!(message("running 1 test\n"), "it ended without a panic");
        assert_eq!(message("thread 'a' panicked at a.rs\n\u{1b}[31mred\u{7}b\n"), "\\u{1b}[31mred\\u{7}b");
    }
}
