//! Stored names must not disappear unnoticed: jobs are queued under them.

use std::collections::BTreeSet;
use std::path::Path;

use crate::wiring::linked;

/// Setting this to 1 writes the file anew instead of comparing.
pub(crate) const UPDATE: &str = "OUTBOX_UPDATE_NAMES";

const HEAD: &str = "# Stored names of events, jobs and subscribers, compared by a test. A name that is gone here orphans what is\n\
                    # queued under it: keep it as an alias. New names are added by running the test with OUTBOX_UPDATE_NAMES=1.\n";

/// Asserts that every stored name in the committed `file` is still declared, and that every declared one is in it.
///
/// ```no_run
/// outbox_testing::assert_names_kept(concat!(env!("CARGO_MANIFEST_DIR"), "/outbox.names"));
/// ```
///
/// # Panics
/// When a name is gone or new; the message says what to write. When nothing at all is linked.
#[track_caller]
pub fn assert_names_kept(file: impl AsRef<Path>) {
    let declared: BTreeSet<String> = linked().stored_names().into_iter().collect();
    let file = file.as_ref();
    if std::env::var(UPDATE).is_ok_and(|set| set == "1") {
        let names: Vec<_> = declared.into_iter().collect();
        std::fs::write(file, format!("{HEAD}{}\n", names.join("\n")))
            .unwrap_or_else(|error| panic!("{} cannot be written: {error}", file.display()));
        return;
    }
    if let Err(message) = compare(&committed(file), &declared) {
        panic!("{}: {message}", file.display());
    }
}

/// What was committed.
pub(crate) fn committed(file: &Path) -> String {
    std::fs::read_to_string(file)
        .unwrap_or_else(|error| panic!("{} cannot be read ({error}): write it with {UPDATE}=1", file.display()))
}

fn compare(committed: &str, declared: &BTreeSet<String>) -> Result<(), String> {
    let lines = committed.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let committed: BTreeSet<String> = lines.map(str::to_owned).collect();
    let gone: Vec<_> = committed.difference(declared).map(|name| format!("  - {name}: {}", advice(name))).collect();
    if !gone.is_empty() {
        return Err(format!("stored names are gone:\n{}", gone.join("\n")));
    }
    let new: Vec<_> = declared.difference(&committed).map(|name| format!("  - {name}")).collect();
    if !new.is_empty() {
        return Err(format!("stored names are new; add them with {UPDATE}=1:\n{}", new.join("\n")));
    }
    Ok(())
}

fn advice(name: &str) -> String {
    match name.split_once(' ') {
        Some(("subscriber", handler)) => {
            format!(
                "if it was renamed, say `aliases(\"{handler}\")` at the new name, or pin `name = \"{handler}\"`; if it is gone for good, take this line out"
            )
        }
        _ => "published rows carry this name; keep it, or take this line out once none is left".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_name_that_is_gone_is_told_what_to_write() {
        let error = compare("# head\nsubscriber a.old\n", &names(&["subscriber a.new"])).unwrap_err();
        assert!(error.contains("a.old") && error.contains("aliases(\"a.old\")"), "{error}");
    }

    #[test]
    fn a_new_name_has_to_be_added() {
        let error = compare("", &names(&["event order.placed v1"])).unwrap_err();
        assert!(error.contains("event order.placed v1") && error.contains(UPDATE), "{error}");
        assert_eq!(compare("\n# x\nevent order.placed v1\n", &names(&["event order.placed v1"])), Ok(()));
    }
}
