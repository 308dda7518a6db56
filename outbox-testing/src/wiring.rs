//! A one-line test of an application's wiring.

use outbox_core::{Fault, Registry, TypeMap};

/// Asserts that all that is linked into this test binary fits together: no name twice, no subscriber of an unknown event, no
/// module of `modules!` without content. What a program gives as state is not known to a test, and is checked by `build()`.
///
/// A test binary links only what it names: say `use my_app as _;`, or put `modules!` into the application's library.
///
/// # Panics
/// When something does not fit; the message names every fault, with crate, file and line.
pub fn assert_wiring() {
    let mut faults = Registry::linked().faults(&TypeMap::default());
    faults.retain(|fault| !matches!(fault, Fault::MissingState { .. }));
    let lines: Vec<_> = faults.iter().map(|fault| format!("  - {fault}")).collect();
    assert!(faults.is_empty(), "the wiring of this binary is wrong:\n{}", lines.join("\n"));
}
