//! What the person at the terminal sees while it runs.

use std::time::Instant;

/// Tells what happens: on the standard output, or on the standard error where that belongs to the JSON.
#[derive(Debug)]
pub(crate) struct Narrator {
    json: bool,
    began: Instant,
}

impl Narrator {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, began: Instant::now() }
    }

    /// Something for everybody.
    pub(crate) fn say(&self, text: &str) {
        if self.json {
            eprintln!("{text}");
        } else {
            println!("{text}");
        }
    }

    /// Something that happens now.
    pub(crate) fn tell(&self, text: &str) {
        self.say(&format!("{:>6.1} s  {text}", self.began.elapsed().as_secs_f64()));
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}
