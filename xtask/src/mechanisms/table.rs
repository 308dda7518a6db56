//! `docs/mechanisms.md`: a row a mechanism, with what its test said.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::entry::Entry;
use crate::workspace::root;

const HEAD: &str = "# What each test would miss

Each mechanism behind a guarantee was taken out, one at a time, and the test that names it failed. `cargo xtask mechanisms`
does it again, from the files in [`tests/mechanisms/`](../tests/mechanisms); with `--write` it writes the rows of those that it tried.

| guarantee | taken out | the test that failed | what it said |
|---|---|---|---|
";

/// The rows by their entry's name.
#[derive(Default)]
pub(crate) struct Table(BTreeMap<String, String>);

impl Table {
    /// With the rows that the file has of these, which are not tried now.
    pub(crate) fn of(others: &[Entry]) -> Self {
        Self::kept(others, &std::fs::read_to_string(file()).unwrap_or_default())
    }

    fn kept(entries: &[Entry], text: &str) -> Self {
        let row = |entry: &Entry| text.lines().find(|line| line.starts_with(&start(entry))).map(str::to_owned);
        Self(entries.iter().filter_map(|entry| Some((entry.name.clone(), row(entry)?))).collect())
    }

    /// What its test said without it.
    pub(crate) fn add(&mut self, entry: &Entry, message: &str) {
        self.0.insert(entry.name.clone(), format!("{}{} |", start(entry), cell(message)));
    }

    pub(crate) fn write(&self) -> std::io::Result<()> {
        let rows: Vec<_> = self.0.values().map(String::as_str).collect();
        std::fs::write(file(), format!("{HEAD}{}\n", rows.join("\n")))
    }
}

fn file() -> PathBuf {
    root().join("docs/mechanisms.md")
}

/// A row up to what the test said: an entry that says something else now has no row any more.
fn start(entry: &Entry) -> String {
    format!("| {} | {} | `{}` | ", cell(&entry.guarantee), cell(&entry.mechanism), entry.test_name())
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, mechanism: &str) -> Entry {
        let (guarantee, test) = ("A promise.".to_owned(), vec!["a::test".to_owned()]);
        Entry { name: name.to_owned(), guarantee, mechanism: mechanism.to_owned(), test, edits: Vec::new() }
    }

    #[test]
    fn what_is_not_tried_again_keeps_its_row_as_long_as_it_says_the_same() {
        let (fence, lease) = (entry("fence", "a fence"), entry("lease", "a lease"));
        let mut table = Table::default();
        table.add(&fence, "left: 1 | right: 0");
        table.add(&lease, "waited in vain");
        let text = table.0.values().cloned().collect::<Vec<_>>().join("\n");
        assert!(text.contains("| A promise. | a fence | `a::test` | left: 1 \\| right: 0 |"));
        let kept = Table::kept(&[fence, entry("lease", "another lease"), entry("new", "a new one")], &text);
        assert_eq!(kept.0.keys().collect::<Vec<_>>(), ["fence"]);
    }
}
