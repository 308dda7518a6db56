//! What the conductor asks for on the command line.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};

/// Which of the works.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work {
    Publish,
    Bulk,
    Drain,
    Latency,
}

#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) work: Work,
    pub(crate) database: String,
    settings: BTreeMap<String, u64>,
}

impl Arguments {
    /// One of the settings. The conductor sends some that are for others, too.
    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.settings.get(key).copied()
    }
}

/// `contest NAME WORK --key value ..`
pub(crate) fn read() -> Result<Arguments> {
    let database = std::env::var("DATABASE_URL").context("DATABASE_URL is not set")?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [face, _name, work, settings @ ..] = words.as_slice() else { bail!("usage: contest NAME WORK --key value ..") };
    ensure!(face == "contest", "usage: contest NAME WORK --key value ..");
    Ok(Arguments { work: named(work)?, database, settings: pairs(settings)? })
}

fn named(work: &str) -> Result<Work> {
    Ok(match work {
        "publish" => Work::Publish,
        "bulk" => Work::Bulk,
        "drain" => Work::Drain,
        "latency" => Work::Latency,
        other => bail!("there is no work `{other}`: publish, bulk, drain or latency"),
    })
}

fn pairs(words: &[String]) -> Result<BTreeMap<String, u64>> {
    let mut settings = BTreeMap::new();
    for pair in words.chunks(2) {
        let [key, value] = pair else { bail!("`{}` has no value", pair[0]) };
        let key = key.strip_prefix("--").with_context(|| format!("`{key}` is no `--key`"))?;
        let number = value.parse().with_context(|| format!("`{value}` of `{key}` is no whole number"))?;
        settings.insert(key.to_owned(), number);
    }
    Ok(settings)
}
