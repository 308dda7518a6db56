//! The lines between the conductor and a contestant, one JSON object each.

use std::io::{BufRead as _, Read as _, Write as _};

use anyhow::{Result, ensure};
use serde::Serialize;
use serde_json::json;

/// What a work came to.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Done {
    pub(crate) seconds: f64,
    /// Jobs that were enqueued, or jobs that were handled, each counted once.
    pub(crate) jobs: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) events: Option<u64>,
    /// How often a handler was called; more than `jobs` where some were handled more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) runs: Option<u64>,
    /// From the commit's return to the handler's start. Less than zero where the handler was faster than the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) latencies_ms: Option<Vec<f64>>,
    /// From the call of the enqueue to the handler's start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enqueue_latencies_ms: Option<Vec<f64>>,
}

/// Says that everything is prepared, and waits for `go`.
pub(crate) fn ready(settings: &str, version: &str) -> Result<()> {
    say(&json!({ "ready": { "settings": settings, "version": version } }))?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    ensure!(line.trim() == "go", "expected `go`, got {line:?}");
    Ok(())
}

/// Says what the work came to, and waits until nobody looks any more.
pub(crate) fn done(done: &Done) -> Result<()> {
    say(&json!({ "done": done }))?;
    std::io::stdin().lock().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn say(line: &serde_json::Value) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
