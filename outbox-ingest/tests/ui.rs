//! Mistakes that do not compile.

/// S2-68: nobody but an ingest can acknowledge a delivery, and that is behind its commit: there is no method, no field and no way to build the
/// word.
#[test]
fn nobody_else_acknowledges() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
