//! One file of `tests/mechanisms`.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

const OUT: &str = "--- take out";
const IN: &str = "--- put in";

/// A mechanism, where it stands, and who notices when it is gone.
#[derive(Debug, PartialEq)]
pub(crate) struct Entry {
    /// The file's name without its ending.
    pub(crate) name: String,
    /// The promise, as `docs/guarantees.md` has it.
    pub(crate) guarantee: String,
    /// What holds it.
    pub(crate) mechanism: String,
    /// Arguments of `cargo test`, the test's name last.
    pub(crate) test: Vec<String>,
    pub(crate) edits: Vec<Edit>,
}

/// A text in a file and what stands there without the mechanism.
#[derive(Debug, PartialEq)]
pub(crate) struct Edit {
    pub(crate) file: String,
    pub(crate) out: String,
    pub(crate) put: String,
}

impl Entry {
    /// All of them, in the order of their names.
    pub(crate) fn read_all(root: &Path) -> Result<Vec<Self>, Box<dyn Error>> {
        let mut entries = Vec::new();
        for file in std::fs::read_dir(root.join("tests/mechanisms"))? {
            let path = file?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let entry = Self::parse(&name, &std::fs::read_to_string(&path)?);
            entries.push(entry.map_err(|error| format!("tests/mechanisms/{name}.txt: {error}"))?);
        }
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }

    fn parse(name: &str, text: &str) -> Result<Self, String> {
        let mut entry = Self {
            name: name.to_owned(),
            guarantee: String::new(),
            mechanism: String::new(),
            test: Vec::new(),
            edits: Vec::new(),
        };
        let mut into: Option<bool> = None;
        for line in text.lines() {
            let header = ["guarantee", "mechanism", "test", "file"].into_iter().find_map(|key| {
                line.strip_prefix(key).and_then(|rest| rest.strip_prefix(": ")).map(|value| (key, value.trim()))
            });
            match (line, header, into) {
                (OUT, _, _) => into = Some(true),
                (IN, _, _) => into = Some(false),
                (_, Some(("guarantee", value)), None) => value.clone_into(&mut entry.guarantee),
                (_, Some(("mechanism", value)), None) => value.clone_into(&mut entry.mechanism),
                (_, Some(("test", value)), None) => entry.test = value.split_whitespace().map(str::to_owned).collect(),
                (_, Some(("file", value)), _) => {
                    into = None;
                    entry.edits.push(Edit { file: value.to_owned(), out: String::new(), put: String::new() });
                }
                (line, _, Some(out)) => {
                    let edit = entry.edits.last_mut().ok_or("a text without a `file: `")?;
                    let text = if out { &mut edit.out } else { &mut edit.put };
                    text.push_str(line);
                    text.push('\n');
                }
                ("", _, None) => {}
                (line, _, None) => return Err(format!("`{line}` is neither a header nor within a text")),
            }
        }
        entry.checked()
    }

    fn checked(self) -> Result<Self, String> {
        let headers = [("guarantee", self.guarantee.as_str()), ("mechanism", self.mechanism.as_str())];
        if let Some((missing, _)) = headers.iter().find(|(_, value)| value.is_empty()) {
            return Err(format!("no `{missing}: `"));
        }
        if self.test.is_empty() {
            return Err("no `test: `".into());
        }
        match self.edits.iter().find(|edit| edit.out.trim().is_empty() || edit.out == edit.put) {
            Some(edit) => Err(format!("nothing is taken out of {}", edit.file)),
            None if self.edits.is_empty() => Err("no `file: `".into()),
            None => Ok(self),
        }
    }

    /// Whether each text to take out stands where it is said to.
    pub(crate) fn fits(&self, root: &Path) -> Result<(), String> {
        let mut files: BTreeMap<&str, String> = BTreeMap::new();
        for edit in &self.edits {
            let text = match files.remove(edit.file.as_str()) {
                Some(text) => text,
                None => {
                    std::fs::read_to_string(root.join(&edit.file)).map_err(|error| format!("{}: {error}", edit.file))?
                }
            };
            files.insert(&edit.file, edit.apply(&text)?);
        }
        Ok(())
    }

    /// The test's own name, as the test program knows it.
    pub(crate) fn test_name(&self) -> &str {
        self.test.last().map_or("", String::as_str)
    }
}

impl Edit {
    /// The file's text without the mechanism.
    pub(crate) fn apply(&self, text: &str) -> Result<String, String> {
        match text.matches(&self.out).count() {
            1 => Ok(text.replacen(&self.out, &self.put, 1)),
            0 => Err(format!("{} no longer has the text to take out:\n{}", self.file, self.out)),
            several => Err(format!("{} has the text to take out {several} times:\n{}", self.file, self.out)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::workspace::root;

    use super::*;

    const TEXT: &str = "guarantee: A promise.\nmechanism: a fence\ntest: --test engine settle::stale\n\nfile: a.sql\n--- take out\n  and fence\n--- put in\n  and true\n";

    #[test]
    fn an_entry_is_read_and_applied() {
        let entry = Entry::parse("fence", TEXT).unwrap();
        assert_eq!((entry.test_name(), entry.test.len()), ("settle::stale", 3));
        assert_eq!(entry.edits[0].apply("where x\n  and fence\nend\n"), Ok("where x\n  and true\nend\n".to_owned()));
        assert!(entry.edits[0].apply("where x\n").is_err());
        assert!(entry.edits[0].apply("  and fence\n  and fence\n").is_err());
    }

    /// An entry goes stale with the line that it names: whoever changes that line hears of it here.
    #[test]
    fn every_entry_names_a_text_that_stands_where_it_says() {
        let stale = |entry: &Entry| Some(format!("{}: {}", entry.name, entry.fits(&root()).err()?));
        let stale: Vec<_> = Entry::read_all(&root()).unwrap().iter().filter_map(stale).collect();
        assert!(stale.is_empty(), "{}", stale.join("\n"));
    }

    #[test]
    fn what_is_missing_is_named() {
        let without = |line: &str| Entry::parse("x", &TEXT.replace(line, "")).unwrap_err();
        assert_eq!(without("guarantee: A promise.\n"), "no `guarantee: `");
        assert_eq!(without("test: --test engine settle::stale\n"), "no `test: `");
        assert_eq!(without("  and fence\n"), "nothing is taken out of a.sql");
        assert_eq!(without("file: a.sql\n"), "a text without a `file: `");
    }

    fn lines() -> impl Strategy<Value = String> {
        let line = "guarantee: .{0,9}|mechanism: .{0,9}|test: .{0,9}|file: .{0,9}|--- take out|--- put in|.{0,9}|";
        proptest::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
    }

    proptest! {
        /// Whatever a file holds, it is an entry that takes something out, or an error that says what is missing.
        #[test]
        fn any_file_is_judged(text in lines()) {
            match Entry::parse("x", &text) {
                Ok(entry) => prop_assert!(!entry.test_name().is_empty() && entry.edits.iter().all(|edit| !edit.out.trim().is_empty() && edit.out != edit.put)),
                Err(error) => prop_assert!(!error.is_empty()),
            }
        }
    }

    /// Every mechanism still stands where its file says, and every test that is to notice exists; whether it notices takes minutes, and
    /// is a command of its own.
    #[test]
    fn every_mechanism_is_still_there() {
        let root = crate::workspace::root();
        let entries = Entry::read_all(&root).unwrap();
        assert!(!entries.is_empty());
        for entry in entries {
            for edit in &entry.edits {
                let text = std::fs::read_to_string(root.join(&edit.file)).unwrap();
                edit.apply(&text).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
            }
        }
    }
}
