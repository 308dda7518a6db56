//! A one-line test of an application's wiring.

use outbox_core::{Fault, Registry, TypeMap};

const NOTHING: &str = "no event, job or subscriber is linked into this test binary, so there is nothing to look at: a test in `tests/` links only \
                       what it names; say `use my_app as _;` with the name of your crate";

/// Asserts that all that is linked into this test binary fits together: no name twice, no subscriber of an unknown event, no
/// module of `modules!` without content. What a program gives as state is not known to a test, and is checked by `build()`.
///
/// A test binary links only what it names: say `use my_app as _;`, or put `modules!` into the application's library.
///
/// # Panics
/// When something does not fit; the message names every fault, with crate, file and line. When nothing at all is linked: there would be
/// nothing to find fault with.
#[track_caller]
pub fn assert_wiring() {
    let registry = linked();
    let mut faults = registry.faults(&TypeMap::default());
    faults.retain(|fault| !matches!(fault, Fault::MissingState { .. }));
    let lines: Vec<_> = faults.iter().map(|fault| format!("  - {fault}")).collect();
    assert!(faults.is_empty(), "the wiring of this binary is wrong:\n{}", lines.join("\n"));
}

/// What is linked into this test binary.
///
/// # Panics
/// When that is nothing.
#[track_caller]
pub(crate) fn linked() -> Registry {
    let registry = Registry::linked();
    assert!(!registry.stored_names().is_empty(), "{NOTHING}");
    registry
}

#[cfg(test)]
mod tests {
    /// In this crate's own tests nothing is linked: a test of the wiring that looks at nothing would pass for ever.
    #[test]
    #[should_panic(expected = "say `use my_app as _;` with the name of your crate")]
    fn nothing_at_all_is_refused() {
        super::assert_wiring();
    }

    #[test]
    #[should_panic(expected = "no event, job or subscriber is linked into this test binary")]
    fn no_names_are_kept_where_nothing_is_linked() {
        crate::assert_names_kept("outbox.names");
    }
}
