//! How many generated cases a test tries that asks the server about each.

/// As many as `PROPTEST_CASES` says, as in the tests of the other crates, or `default`.
pub fn cases(default: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|said| said.parse().ok()).unwrap_or(default)
}
