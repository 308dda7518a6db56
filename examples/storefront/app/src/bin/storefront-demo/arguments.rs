//! What the demonstration is asked to do.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser;
use orders::{BadLine, OnBadLine, read_orders};
use storefront_app::SAMPLE_ORDERS;
use storefront_app::seeded::Seeded;

use crate::expected::Expected;
use crate::narrator::Narrator;

/// Bad lines that are shown.
const SHOWN: usize = 20;

/// Places orders, kills a worker in the middle and proves from the tables that nothing was lost or doubled.
#[derive(Debug, Clone, Parser)]
pub(crate) struct Arguments {
    /// The orders to place: JSON, one order a line. Default: a few hundred of the example's own.
    #[arg(long, value_name = "FILE")]
    orders: Option<PathBuf>,
    /// Print one JSON object on the standard output, and everything else on the standard error.
    #[arg(long)]
    pub(crate) json: bool,
    /// Decides which worker is killed, and when, unless `--kill-at` says when.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Kill when this fraction of all jobs is settled.
    #[arg(long, value_name = "FRACTION", value_parser = fraction)]
    kill_at: Option<f64>,
    /// With bad lines: `refuse` takes nothing at all, `skip` takes the rest.
    #[arg(long, value_name = "CHOICE", default_value_t)]
    pub(crate) on_bad_line: OnBadLine,
    /// Give up when not everything is settled by then.
    #[arg(long, value_name = "SECONDS", default_value_t = 240)]
    pub(crate) deadline: u64,
}

fn tell(bad_lines: &[BadLine], narrator: &Narrator) {
    for line in bad_lines.iter().take(SHOWN) {
        narrator.warn(&line.to_string());
    }
    if let Some(more) = bad_lines.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        narrator.warn(&format!("and {more} more bad lines"));
    }
}

fn fraction(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(fraction) if (0.0..=1.0).contains(&fraction) => Ok(fraction),
        _ => Err("a fraction is a number from 0 to 1".to_owned()),
    }
}

impl Arguments {
    /// Reads the orders, once: the web role is given the same bytes.
    pub(crate) fn expected(&self, narrator: &Narrator) -> anyhow::Result<Expected> {
        let file = match &self.orders {
            Some(path) => std::fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?,
            None => SAMPLE_ORDERS.to_vec(),
        };
        let reading = read_orders(&file);
        let bad_lines = reading.bad_lines.clone();
        // Lines that are skipped are told by the web role, which is given the same file.
        let orders = reading.accept(self.on_bad_line).inspect_err(|_| tell(&bad_lines, narrator))?;
        Ok(Expected::of(&orders, bad_lines.len(), file))
    }

    /// Which of `workers` is killed, and at which fraction: the same for the same seed.
    pub(crate) fn kill(&self, workers: usize) -> (usize, f64) {
        let mut seeded = Seeded::new(self.seed);
        let victim = usize::try_from(seeded.below(u32::try_from(workers).unwrap_or(1))).unwrap_or(0);
        (victim, self.kill_at.unwrap_or_else(|| 0.2 + 0.6 * seeded.fraction()))
    }
}
