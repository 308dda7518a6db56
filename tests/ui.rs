//! Mistakes in wiring are compile errors: each at the user's own word, once, and with what to write instead.
//!
//! One folder a subject in `tests/ui`, one mistake a file, named by the mistake; `tests/ui/README.md` says how to update.

use trybuild::TestCases;

/// One program that is right and many that are not. The one has trybuild build where it would otherwise check, so that
/// the dependencies are compiled once for all of these tests.
fn judge(right: &str, mistakes: &[&str]) {
    let cases = TestCases::new();
    cases.pass(format!("tests/ui/pass/{right}.rs"));
    for folder in mistakes {
        cases.compile_fail(format!("tests/ui/{folder}/*.rs"));
    }
}

/// S1-14: names follow one grammar. S2-7: two types cannot carry one name and version. S2-4: a name holds no version. S2-11: an event cannot
/// deny fields that it does not know. S2-12: a later version says how it is made from an earlier one of the same event.
#[test]
fn events() {
    judge("inside_functions", &["event"]);
}

/// S2-5: a command has one handler, which is stored under its name.
#[test]
fn jobs() {
    judge("renamed_by_option", &["job"]);
}

/// S0-13: a subscriber names an event that exists and takes its type. S0-33: idempotency cannot be left open. S2-6: it answers no value.
#[test]
fn subscribers() {
    judge("pedantic", &["subscriber"]);
}

/// S0-39: a schedule has a line that can be read, a zone that is known and a date that exists, or it does not compile.
#[test]
fn scheduled() {
    judge("scheduled", &["scheduled"]);
}

/// S0-7, S2-7: only an event is published, and only into a transaction. B1: a crate that is named is loaded.
#[test]
fn publishing_and_modules() {
    judge("modules", &["publish", "modules"]);
}

/// S1-5: what is compared is a struct's fields, and a misspelt `secret` publishes nothing.
#[test]
fn changes() {
    judge("readme", &["changes"]);
}
