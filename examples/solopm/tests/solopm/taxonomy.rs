//! The fifty names.

use std::collections::BTreeSet;

use outbox::Registry;
use solopm as _;

/// The list, as it was written down for the server.
const LISTED: &str = "
    project.created / project.updated / project.status_changed / project.deleted
    project.member_added / project.member_removed / project.role_changed / project.ownership_transferred
    project.dependency_added / project.dependency_removed
    project.exported
    label.created / label.updated / label.deleted
    epic.created / epic.updated / epic.status_changed / epic.deleted
    issue.created / issue.updated / issue.status_changed / issue.assigned / issue.unassigned / issue.moved
    issue.blocker_added / issue.blocker_removed
    issue.label_added / issue.label_removed
    comment.created / comment.updated / comment.resolved / comment.unresolved / comment.deleted
    attachment.uploaded / attachment.deleted
    link.added / link.removed
    wiki.created / wiki.updated / wiki.deleted
    user.created / user.updated / user.deleted
    auth.login_succeeded / auth.login_failed / auth.token_created / auth.token_revoked
    webhook.received / webhook.processed / webhook.failed";

pub(crate) fn listed() -> BTreeSet<&'static str> {
    LISTED.split([' ', '/', '\n']).filter(|word| !word.is_empty()).collect()
}

/// Ours, and not those that a library brings along.
fn declared() -> Vec<&'static str> {
    let registry = Registry::linked();
    let ours = registry.events().iter().filter(|event| event.place.file.contains("examples/solopm"));
    ours.map(|event| event.name).collect()
}

/// S1-16: all fifty are declared, each by a type of its own, so that one more is no change for those who match on the others.
#[test]
fn all_fifty_are_declared() {
    assert_eq!(listed().len(), 50);
    let declared = declared();
    assert_eq!(declared.len(), 50, "one type each");
    assert_eq!(declared.into_iter().collect::<BTreeSet<_>>(), listed());
}

/// S1-14: each is `resource.action` in the past tense. (A subscriber whose text has a typo does not compile: tests/ui.)
#[test]
fn each_is_a_resource_and_what_happened_to_it() {
    for name in declared() {
        let (resource, action) = name.split_once('.').expect("two parts");
        assert!(!resource.is_empty() && !action.contains('.'), "{name}");
        assert!(action.ends_with("ed"), "{name} is no past tense");
    }
}

#[test]
fn everything_fits_together() {
    outbox_testing::assert_wiring();
}

#[test]
fn stored_names_are_kept() {
    outbox_testing::assert_names_kept(concat!(env!("CARGO_MANIFEST_DIR"), "/outbox.names"));
}
