//! What the person at the terminal sees while it runs.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often progress is told where lines cannot be overwritten.
const EVERY: Duration = Duration::from_secs(1);
const CLEAR_LINE: &str = "\r\x1b[2K";

/// Tells what happens: on the standard output, or on the standard error where that belongs to the JSON.
#[derive(Debug)]
pub(crate) struct Narrator {
    json: bool,
    terminal: bool,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    /// A line of progress stands on the terminal.
    live: bool,
    last: Option<Instant>,
}

impl Narrator {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, terminal: std::io::stderr().is_terminal(), told: Mutex::default() }
    }

    /// Something for everybody.
    pub(crate) fn say(&self, text: &str) {
        self.clear();
        if self.json {
            eprintln!("{text}");
        } else {
            println!("{text}");
        }
    }

    /// Something that is not as it should be.
    pub(crate) fn warn(&self, text: &str) {
        self.clear();
        eprintln!("{text}");
    }

    /// How far it is: one line that changes, or a line a second.
    pub(crate) fn progress(&self, text: impl FnOnce() -> String) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if self.terminal {
            told.live = true;
            eprint!("{CLEAR_LINE}{}", text());
            // A progress line that cannot be written is not worth ending for.
            let _ = std::io::stderr().flush();
        } else if told.last.is_none_or(|last| last.elapsed() >= EVERY) {
            told.last = Some(Instant::now());
            eprintln!("{}", text());
        }
    }

    fn clear(&self) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut told.live) {
            eprint!("{CLEAR_LINE}");
        }
    }
}
