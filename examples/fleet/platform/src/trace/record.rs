use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One span that has ended, as a line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanRecord {
    /// The trace, as 32 hex digits.
    pub trace: String,
    /// Which span of it, as 16.
    pub span: String,
    /// The span above it, which may be of another process; of the first span, whatever the request named.
    pub parent: String,
    /// Whose process it was in.
    pub service: String,
    /// What was done.
    pub name: String,
    /// Its other fields.
    pub fields: BTreeMap<String, String>,
    /// When it began, in microseconds since 1970.
    pub began: u64,
    /// How long it took, in microseconds.
    pub took: u64,
}
