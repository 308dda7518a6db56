//! Mistakes in `relay!` are compile errors that say what to write: the `.stderr` beside each is what the compiler says.

/// One that is right, and each mistake: no transport, events in the plural, the order turned round, a broker's wildcard, a name without quotes.
#[test]
fn mistakes_of_a_relay_say_what_to_write() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
