//! Who takes part, and how each is started.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;

use crate::works::{self, Work};

/// The programs of a run.
#[derive(Debug)]
pub(super) struct Contestants {
    this: PathBuf,
    others: Vec<Side>,
}

/// One of them, under the name that the table has.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Side {
    pub(super) name: String,
    pub(super) program: PathBuf,
    /// What the program is given to run, where it runs scripts.
    pub(super) script: Option<PathBuf>,
    /// By work and setting: how much of it is asked of one for which all of it would take hours.
    pub(super) most: BTreeMap<String, BTreeMap<String, u64>>,
    /// Whether the run goes on without it when it fails.
    pub(super) optional: bool,
}

impl Contestants {
    /// This program's sides, and those that were named as `NAME=PROGRAM`.
    pub(super) fn read(others: &[String]) -> anyhow::Result<Self> {
        let this = std::env::current_exe().context("where this program is")?;
        Ok(Self { this, others: others.iter().map(|other| Side::read(other)).collect::<anyhow::Result<_>>()? })
    }

    /// These take part, too.
    pub(super) fn join(&mut self, others: Vec<Side>) {
        self.others.extend(others);
    }

    /// Those who do a work, ours first.
    pub(super) fn of(&self, work: &Work) -> Vec<Side> {
        let own = work.sides.iter().map(|side| Side {
            name: (*side).to_owned(),
            program: self.this.clone(),
            ..Side::default()
        });
        let others = self.others.iter().filter(|_| work.open).cloned();
        own.chain(others).collect()
    }
}

impl Side {
    fn read(text: &str) -> anyhow::Result<Self> {
        let (name, program) = text.split_once('=').with_context(|| format!("`{text}` is not NAME=PROGRAM"))?;
        anyhow::ensure!(!name.is_empty() && !program.is_empty(), "`{text}` is not NAME=PROGRAM");
        anyhow::ensure!(!works::is_own(name), "`{name}` is a side of this program");
        Ok(Self { name: name.to_owned(), program: program.into(), ..Self::default() })
    }

    /// What starts it for a work.
    pub(super) fn command(&self, work: &Work, scale: f64) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.script).args(["contest", &self.name, work.contest]);
        let most = self.most.get(work.contest);
        for (key, value) in work.arguments(scale) {
            let most = most.and_then(|most| most.get(key)).copied().unwrap_or(u64::MAX);
            command.arg(format!("--{key}")).arg(value.min(most).to_string());
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::works::chosen;

    #[test]
    fn another_program_takes_part_in_the_works_that_are_open_to_it() {
        let contestants = Contestants::read(&["river=/opt/river".to_owned()]).unwrap();
        let names = |key: &str| {
            let work = chosen(&[key.to_owned()]).unwrap()[0];
            contestants.of(work).into_iter().map(|side| side.name).collect::<Vec<_>>()
        };
        assert_eq!(names("drain"), ["ours", "limit", "river"]);
        assert_eq!(names("drain_8"), ["ours", "limit"]);
    }

    #[test]
    fn it_is_started_as_the_protocol_says() {
        let side = Side::read("river=/opt/river").unwrap();
        let work = chosen(&["publish".to_owned()]).unwrap()[0];
        let command = side.command(work, 0.1);
        let arguments: Vec<_> = command.get_args().map(|argument| argument.to_str().unwrap()).collect();
        assert_eq!(arguments.join(" "), "contest river publish --events 1000 --connections 8 --fan-out 5");
        assert!(Side::read("river").is_err() && Side::read("=x").is_err() && Side::read("ours=/x").is_err());
    }

    #[test]
    fn a_slow_one_is_asked_for_less_and_a_script_comes_before_all() {
        let most = |size| BTreeMap::from([("drain".to_owned(), BTreeMap::from([("jobs".to_owned(), size)]))]);
        let side =
            Side { script: Some("/opt/river.mjs".into()), most: most(1_000), ..Side::read("river=/opt/node").unwrap() };
        let arguments = |side: &Side, scale| {
            let command = side.command(chosen(&["drain".to_owned()]).unwrap()[0], scale);
            command.get_args().map(|argument| argument.to_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert!(arguments(&side, 1.0).starts_with("/opt/river.mjs contest river drain --jobs 1000 --"));
        assert!(
            arguments(&side, 0.005).contains("--jobs 500 "),
            "less than the most is asked for where less is measured"
        );
    }
}
