//! The conductor: one throwaway server, every side of every work in turns, and what came of it.

mod child;
mod document;
mod earlier;
mod pages;
mod peers;
mod performance;
mod plot;
mod process;
mod rounds;
mod server;
mod sides;
mod table;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::Context as _;

use crate::measure::Cell;
use crate::targets::{TARGETS, Verdict};
use crate::works::{self, Work};
use server::Stage;
use sides::Contestants;

/// How often, how much, and of what.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only these works.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Rounds, in each of which every side has its turn.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// How much of each work is done, as a part of all of it.
    #[arg(long, default_value_t = 1.0, value_parser = scale)]
    scale: f64,
    /// A hundredth of each work, and one round: to see that everything runs. Its figures mean nothing.
    #[arg(long)]
    pub(crate) quick: bool,
    /// How long the steady load goes on.
    #[arg(long, default_value_t = works::MINUTES, value_parser = scale)]
    minutes: f64,
    /// Write every cell and verdict to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the tables and plots into `performance.md` of this folder, the project's documentation unless said otherwise: what stands
    /// between its two marks is replaced by this run, so that it is to be a run of all works.
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = pages::FOLDER)]
    write: Option<PathBuf>,
    /// Works that this run does not do are those of an earlier one, from the file that its --json wrote: what takes hours can be measured in
    /// parts.
    #[arg(long, value_name = "FILE")]
    join: Option<PathBuf>,
    /// Another program that does the works, by the protocol of benches/README.md.
    #[arg(long = "contestant", value_name = "NAME=PROGRAM")]
    contestants: Vec<String>,
    /// Build the peers of benches/peers, and run them too.
    #[arg(long)]
    peers: bool,
}

/// A part of the work that is done in moments.
const QUICK: f64 = 0.01;

fn scale(text: &str) -> Result<f64, String> {
    let scale: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
    (scale > 0.0 && scale.is_finite()).then_some(scale).ok_or_else(|| "it is to be above 0".to_owned())
}

/// What a run was.
#[derive(Debug)]
struct Run {
    scale: f64,
    pairs: u32,
    server: String,
    began: SystemTime,
    works: Vec<(&'static Work, Vec<Cell>)>,
}

/// Measures and tells.
pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let works = works::chosen(&arguments.only)?;
    let mut contestants = Contestants::read(&arguments.contestants)?;
    if arguments.peers {
        contestants.join(peers::build()?);
    }
    let (scale, pairs) = if arguments.quick { (QUICK, 1) } else { (arguments.scale, arguments.pairs) };
    let mut stage = Stage::start().await?;
    let server = stage.describe().to_owned();
    let mut run = Run { scale, pairs, server, began: SystemTime::now(), works: Vec::new() };
    println!("{}; {pairs} rounds at scale {scale}", run.server);
    for work in works {
        let of_work = if work.is_steady() && !arguments.quick { arguments.minutes / works::MINUTES } else { scale };
        let cells = measure(&mut stage, work, &contestants, of_work, pairs).await?;
        table::print_work(work, &cells);
        run.works.push((work, cells));
    }
    if let Some(file) = &arguments.join {
        run.join(file)?;
    }
    let verdicts = run.verdicts();
    table::print_verdicts(&verdicts);
    if let Some(file) = &arguments.json {
        let text = serde_json::to_string_pretty(&document::of(&run, &verdicts))?;
        std::fs::write(file, text + "\n").with_context(|| format!("write {}", file.display()))?;
    }
    if let Some(folder) = &arguments.write {
        pages::write(folder, &run, &verdicts)?;
    }
    Ok(())
}

/// All rounds of a work.
async fn measure(
    stage: &mut Stage,
    work: &'static Work,
    contestants: &Contestants,
    scale: f64,
    pairs: u32,
) -> anyhow::Result<Vec<Cell>> {
    let sides = contestants.of(work);
    let mut cells = Vec::new();
    let mut failed = BTreeSet::new();
    for (round, side) in rounds::turns(sides.len(), pairs.min(work.most_rounds)) {
        if failed.contains(&side) {
            continue;
        }
        let command = sides[side].command(work, scale);
        let name = &sides[side].name;
        match performance::perform(stage, command).await.with_context(|| format!("{name} at {}", work.key)) {
            Ok((introduction, done, readings)) => {
                table::print_cell(work, round, name, &done);
                cells.push(Cell { introduction, ..Cell::new(name, round, done, readings) });
            }
            Err(error) if sides[side].optional => {
                println!("{error:#}: the rest of {} is without it", work.key);
                failed.insert(side);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(cells)
}

impl Run {
    /// Of the targets whose works were done.
    fn verdicts(&self) -> Vec<Verdict> {
        let judged = TARGETS.iter().filter_map(|target| {
            let (work, cells) = self.works.iter().find(|(work, _)| work.key == target.work)?;
            Some(target.judge(work, cells))
        });
        judged.collect()
    }
}

#[cfg(test)]
impl Default for Run {
    fn default() -> Self {
        Self { scale: 1.0, pairs: 1, server: "PostgreSQL".to_owned(), began: SystemTime::UNIX_EPOCH, works: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_a_positive_number() {
        assert_eq!(scale("0.1"), Ok(0.1));
        assert!(scale("0").is_err() && scale("-1").is_err() && scale("inf").is_err() && scale("much").is_err());
    }
}
