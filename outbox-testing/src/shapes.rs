//! The names of fields must not change unnoticed: stored events and other programs have them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::names::{UPDATE, committed};

const HEAD: &str = "# Fields of events and jobs as they are on the wire, compared by a test. A field that is gone here breaks whoever reads\n\
                    # it, and what is stored: keep its name with #[serde(rename = \"..\")], or make a new version. New fields and versions\n\
                    # are added by running the test with OUTBOX_UPDATE_NAMES=1.\n";

/// Asserts that every event and job that is linked still has the fields (an enum: the variants) that the committed `file` says, under the
/// same names on the wire, and that new ones are in it: a field that is renamed in Rust, and so on the wire, is found by a test and not
/// by a consumer. What is within a field is not looked at.
///
/// ```no_run
/// outbox_testing::assert_shapes_kept(concat!(env!("CARGO_MANIFEST_DIR"), "/outbox.shapes"));
/// ```
///
/// # Panics
/// When a field is gone or new; the message says what to do.
pub fn assert_shapes_kept(file: impl AsRef<Path>) {
    let file = file.as_ref();
    let declared = crate::wiring::linked().shapes();
    if std::env::var(UPDATE).is_ok_and(|set| set == "1") {
        let lines: Vec<_> =
            declared.iter().map(|(wire, shape)| format!("{wire}: {shape}").trim_end().to_owned()).collect();
        std::fs::write(file, format!("{HEAD}{}\n", lines.join("\n")))
            .unwrap_or_else(|error| panic!("{} cannot be written: {error}", file.display()));
        return;
    }
    let declared = declared.into_iter().map(|(wire, shape)| (wire, shape.names().iter().copied().collect())).collect();
    if let Err(message) = compare(&committed(file), &declared) {
        panic!("{}: {message}", file.display());
    }
}

type Names<'a> = BTreeSet<&'a str>;

fn compare(committed: &str, declared: &BTreeMap<String, Names<'_>>) -> Result<(), String> {
    let lines = committed.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let recorded: BTreeMap<&str, Names<'_>> = lines.map(recorded).collect();
    let (mut gone, mut new) = (Vec::new(), Vec::new());
    for (wire, names) in &recorded {
        let Some(now) = declared.get(*wire) else {
            gone.push(format!(
                "  - {wire}: it is stored under this version; keep the type, or take this line out once none is left"
            ));
            continue;
        };
        gone.extend(names.difference(now).map(|name| format!("  - {wire} had `{name}`: {}", advice(name))));
    }
    for (wire, now) in declared {
        match recorded.get(wire.as_str()) {
            None => new.push(format!("  - {wire}")),
            Some(names) => new.extend(now.difference(names).map(|name| {
                format!("  - {wire} has `{name}`: what is stored lacks it, so it needs #[serde(default)], or a version of its own")
            })),
        }
    }
    if !gone.is_empty() {
        return Err(format!("names on the wire are gone:\n{}", gone.join("\n")));
    }
    if !new.is_empty() {
        return Err(format!("names on the wire are new; add them with {UPDATE}=1:\n{}", new.join("\n")));
    }
    Ok(())
}

/// `event order.placed.v1: order_id, units`
fn recorded(line: &str) -> (&str, Names<'_>) {
    let (wire, names) = line.split_once(':').unwrap_or((line, ""));
    (wire, names.split([',', '|']).map(str::trim).filter(|name| !name.is_empty()).collect())
}

fn advice(name: &str) -> String {
    format!(
        "consumers and stored events have it; if only its Rust name changed, say #[serde(rename = \"{name}\")]; if the shape changed, make it \
         a new version with `upcast_from`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(list: &[(&str, &[&'static str])]) -> BTreeMap<String, Names<'static>> {
        list.iter().map(|(wire, names)| ((*wire).to_owned(), names.iter().copied().collect())).collect()
    }

    const FILE: &str =
        "# head\nevent policy.created.v1: policy, premium\nevent policy.size.v1: Large | Small\njob policy.void.v1:\n";
    const KEPT: [(&str, &[&str]); 3] = [
        ("event policy.created.v1", &["premium", "policy"]),
        ("event policy.size.v1", &["Small", "Large"]),
        ("job policy.void.v1", &[]),
    ];

    /// S2-10: what is as it was passes.
    #[test]
    fn what_is_kept_passes() {
        assert_eq!(compare(FILE, &declared(&KEPT)), Ok(()));
    }

    /// S2-9: a field that is renamed in Rust, and so on the wire, fails, with the word that keeps its name.
    #[test]
    fn a_renamed_field_is_told_what_to_write() {
        let mut renamed = declared(&KEPT);
        renamed.insert("event policy.created.v1".into(), ["policy", "amount"].into());
        let error = compare(FILE, &renamed).unwrap_err();
        assert!(
            error.contains("policy.created.v1 had `premium`") && error.contains("#[serde(rename = \"premium\")]"),
            "{error}"
        );
        assert!(error.contains("upcast_from"), "{error}");
    }

    /// S2-10: a field, a variant and a version that are new are looked at by somebody, and recorded.
    #[test]
    fn what_is_new_has_to_be_added() {
        for (wire, names) in [
            ("event policy.created.v1", &["policy", "premium", "channel"][..]),
            ("event policy.size.v1", &["Large", "Small", "Huge"]),
            ("event policy.created.v2", &["policy"]),
        ] {
            let mut more = declared(&KEPT);
            more.insert(wire.into(), names.iter().copied().collect());
            let error = compare(FILE, &more).unwrap_err();
            assert!(error.contains(wire) && error.contains(UPDATE), "{error}");
        }
    }

    /// S2-10: a version that is gone is told of.
    #[test]
    fn a_version_that_is_gone_is_told_of() {
        let error = compare(FILE, &declared(&KEPT[..2])).unwrap_err();
        assert!(error.contains("policy.void.v1"), "{error}");
    }
}
