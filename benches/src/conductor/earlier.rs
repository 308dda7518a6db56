//! Works of an earlier run, read from its JSON: what takes hours is measured in parts. A work is of one run as a whole, so that its ratios stay
//! within rounds.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use super::Run;
use crate::measure::Cell;
use crate::works::WORKS;

/// What is needed of a document; see [`document`](super::document).
#[derive(Deserialize)]
struct Document {
    server: String,
    scale: f64,
    works: HashMap<String, Cells>,
}

#[derive(Deserialize)]
struct Cells {
    cells: Vec<Cell>,
}

impl Run {
    /// Adds the works that this run has not done itself.
    pub(super) fn join(&mut self, file: &Path) -> anyhow::Result<()> {
        let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
        self.add(&text).with_context(|| format!("join {}", file.display()))
    }

    fn add(&mut self, document: &str) -> anyhow::Result<()> {
        let mut earlier: Document = serde_json::from_str(document).context("it is to be a file that --json wrote")?;
        ensure!(
            earlier.server == self.server && (earlier.scale - self.scale).abs() < 1e-9,
            "it is of {} at scale {}, and this run of {} at scale {}: join runs of one kind only",
            earlier.server,
            earlier.scale,
            self.server,
            self.scale
        );
        let mut own = std::mem::take(&mut self.works);
        for work in WORKS {
            let done = own.iter().position(|(done, _)| done.key == work.key).map(|place| own.swap_remove(place));
            let joined = || earlier.works.remove(work.key).map(|works| (work, works.cells));
            self.works.extend(done.or_else(joined));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conductor::document;
    use crate::measure::tests::cell;
    use crate::works::chosen;

    fn run(keys: &[&str], jobs: u64) -> Run {
        let work = |key: &&str| (chosen(&[(*key).to_owned()]).unwrap()[0], vec![cell("ours", 0, jobs)]);
        Run { works: keys.iter().map(work).collect(), server: "one".to_owned(), ..Run::default() }
    }

    #[test]
    fn a_work_that_was_done_again_is_this_runs_and_the_others_are_the_earlier_ones() {
        let earlier = run(&["publish", "drain"], 500);
        let mut now = run(&["drain"], 900);
        now.add(&document::of(&earlier, &[]).to_string()).unwrap();
        let jobs: Vec<_> = now.works.iter().map(|(work, cells)| (work.key, cells[0].done.jobs)).collect();
        assert_eq!(jobs, [("publish", 500), ("drain", 900)]);
    }

    #[test]
    fn runs_of_two_servers_are_not_joined() {
        let earlier = document::of(&run(&["publish"], 500), &[]).to_string();
        let mut now = Run { server: "another".to_owned(), ..run(&["drain"], 900) };
        let refused = format!("{:#}", now.add(&earlier).unwrap_err());
        assert!(refused.contains("it is of one at scale") && refused.contains("this run of another"), "{refused}");
        assert!(now.add("{}").is_err());
    }
}
