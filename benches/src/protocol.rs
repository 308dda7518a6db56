//! What conductor and contestant say to each other: one JSON object a line, on the contestant's standard output, and the line `go` on its
//! standard input.
//!
//! A contestant is any program that is started as `PROGRAM contest SIDE WORK --key value ..` with `DATABASE_URL` in its environment, a
//! database of its own that is dropped behind it. It prepares (tables, rows, connections, prepared statements), says `ready`, waits for
//! `go`, works, says `done` with what it measured, and stays until its standard input ends.

use serde::{Deserialize, Serialize};

/// What it waits for.
pub(crate) const GO: &str = "go";

/// A line of a contestant.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Said {
    /// Prepared.
    Ready(Introduction),
    /// The work is done.
    Done(Done),
}

/// How a contestant introduces itself, where it does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Introduction {
    /// Of the library that it uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    /// What it told that library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) settings: Option<String>,
}

/// What a contestant measured. What it leaves out is none or not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Done {
    /// From `go` until the last of the work was committed.
    pub(crate) seconds: f64,
    /// Jobs published or run to their end.
    pub(crate) jobs: u64,
    /// Events published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) events: Option<u64>,
    /// Jobs a second of each part of the work, a fifth unless said otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) steps: Vec<f64>,
    /// Of each single operation, in any order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) latencies_ms: Vec<f64>,
    /// Of each in the second half, where the work is to be told apart from the first one; `latencies_ms` are those of the first then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) late_latencies_ms: Vec<f64>,
}

/// Reads a line; `None` for one that is not of this protocol, which a library may print.
pub(crate) fn read(line: &str) -> Option<Said> {
    serde_json::from_str(line.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_with_what_it_leaves_out_and_what_it_adds() {
        assert_eq!(read("{\"ready\":{}}\n"), Some(Said::Ready(Introduction::default())));
        let done = Done { seconds: 1.5, jobs: 10, ..Done::default() };
        assert_eq!(read(r#"{"done":{"seconds":1.5,"jobs":10,"note":"x"}}"#), Some(Said::Done(done)));
        let introduced = Introduction { version: Some("river 0.43".to_owned()), settings: None };
        assert_eq!(read(r#"{"ready":{"version":"river 0.43"}}"#), Some(Said::Ready(introduced)));
        assert_eq!(read("listening on port 1"), None);
    }

    #[test]
    fn what_is_said_is_what_is_read() {
        let said = Said::Done(Done {
            seconds: 0.25,
            jobs: 5,
            events: Some(1),
            steps: vec![1.0, 2.0],
            latencies_ms: vec![0.5],
            late_latencies_ms: vec![0.75],
        });
        assert_eq!(read(&serde_json::to_string(&said).unwrap()), Some(said));
        assert_eq!(serde_json::to_string(&Said::Ready(Introduction::default())).unwrap(), r#"{"ready":{}}"#);
    }
}
