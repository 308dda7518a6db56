//! The play: set up, start the roles, watch, kill, wait, prove.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use outbox::Registry;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use crate::arguments::Arguments;
use crate::child::Child;
use crate::expected::Expected;
use crate::kill::{Killed, kill_while_it_holds_jobs};
use crate::narrator::Narrator;
use crate::proof::Proof;
use crate::report::{Report, grouped};
use crate::tables::{self, Counts, Effects};

const EVENT: &str = "order.placed";
const WORKERS: [&str; 2] = ["worker-1", "worker-2"];
/// The shortest there is: what a killed worker held is free again soon.
const LEASE_MILLISECONDS: u32 = 2_000;
/// The tables are looked at this often, or less often when looking takes longer.
const EVERY: Duration = Duration::from_millis(20);

/// Everything that a run needs.
#[derive(Debug)]
pub(crate) struct Play {
    pub(crate) arguments: Arguments,
    pub(crate) expected: Expected,
    pub(crate) narrator: Arc<Narrator>,
    pub(crate) url: String,
}

impl Play {
    pub(crate) async fn run(mut self) -> anyhow::Result<Report> {
        let pool = PgPoolOptions::new().max_connections(2).connect(&self.url).await?;
        self.set_up(&pool).await?;
        let subscribers = self.introduce();
        let jobs = self.expected.orders * subscribers;
        // The workers first: a subscriber receives what is published from its declaration on.
        let mut workers = self.start_workers(&pool).await?;
        let begun = Instant::now();
        let mut web = self.start_web()?;
        let killed = self.watch(&pool, &mut workers, &mut web, jobs).await?;
        let seconds = begun.elapsed().as_secs_f64();
        for worker in workers {
            worker.stop().await?;
        }
        let (counts, fates) = (Counts::read(&pool).await?, tables::fates(&pool).await?);
        let effects = Effects::read(&pool).await?;
        let proof = Proof::of(&self.expected, jobs, &counts, &fates, &effects);
        pool.close().await;
        let expected = self.expected;
        Ok(Report { seed: self.arguments.seed, expected, counts, fates, effects, jobs, killed, seconds, proof })
    }

    /// Tables, goods to sell, and a cart that each customer left behind.
    async fn set_up(&self, pool: &PgPool) -> anyhow::Result<()> {
        storefront_app::migrate(pool).await?;
        let mut tx = pool.begin().await?;
        let goods = self.expected.units_by_sku.iter().map(|(sku, units)| (sku.as_str(), units + 100));
        inventory::receive(&mut tx, goods).await?;
        for (customer, moment) in &self.expected.customers {
            automation::abandon_cart(&mut tx, customer, *moment).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Shows who listens to the event; answers how many they are.
    fn introduce(&self) -> u64 {
        let registry = Registry::linked();
        let handlers: Vec<_> = registry.handlers_of(EVENT).map(|handler| handler.name).collect();
        let others = registry.events().iter().filter(|event| registry.handlers_of(event.name).next().is_none()).count();
        let list = handlers.join(",\n  ");
        self.narrator
            .say(&format!("\n{EVENT} -> [\n  {list},\n]\nand {others} more events that nobody listens to yet\n"));
        u64::try_from(handlers.len()).unwrap_or(u64::MAX)
    }

    async fn start_workers(&self, pool: &PgPool) -> anyhow::Result<Vec<Child>> {
        let start = |name: &&str| {
            let lease = LEASE_MILLISECONDS.to_string();
            let arguments = ["--name", name, "--lease", &lease, "--until-input-ends"].map(str::to_owned);
            Child::start("storefront-worker", name, &arguments, &self.url, &self.narrator)
        };
        let mut workers = WORKERS.iter().map(start).collect::<anyhow::Result<Vec<_>>>()?;
        let deadline = Instant::now() + Duration::from_secs(30);
        while tables::announced(pool).await? < 2 {
            for worker in &mut workers {
                still_runs(worker)?;
            }
            if Instant::now() > deadline {
                bail!("the workers did not start within 30 s");
            }
            tokio::time::sleep(EVERY).await;
        }
        Ok(workers)
    }

    fn start_web(&mut self) -> anyhow::Result<Child> {
        let choice = self.arguments.on_bad_line.to_string();
        let arguments = ["--orders", "-", "--on-bad-line", &choice].map(str::to_owned);
        let mut web = Child::start("storefront-web", "web", &arguments, &self.url, &self.narrator)?;
        web.feed(std::mem::take(&mut self.expected.file));
        Ok(web)
    }

    /// Watches until everything is settled, and kills a worker on the way.
    async fn watch(
        &self,
        pool: &PgPool,
        workers: &mut Vec<Child>,
        web: &mut Child,
        jobs: u64,
    ) -> anyhow::Result<Option<Killed>> {
        let (victim, fraction) = self.arguments.kill(workers.len());
        let deadline = Instant::now() + Duration::from_secs(self.arguments.deadline);
        let mut killed = None;
        loop {
            let looked = Instant::now();
            let counts = Counts::read(pool).await?;
            self.narrator.progress(|| self.line(&counts, jobs));
            let web_ended = has_done_its_part(web)?;
            for worker in workers.iter_mut() {
                still_runs(worker)?;
            }
            let at = share(counts.settled(), jobs);
            if killed.is_none() && counts.settled() > 0 && at >= fraction {
                let worker = &mut workers[victim];
                if let Some((pid, held)) = kill_while_it_holds_jobs(worker, pool).await? {
                    let one = Killed { name: worker.name().to_owned(), pid, held, settled: counts.settled(), at };
                    self.narrator.say(&format!(
                        "{} (process {pid}) killed with SIGKILL at {:.0} % while it held {held} jobs",
                        one.name,
                        100.0 * at
                    ));
                    workers.remove(victim);
                    killed = Some(one);
                }
            }
            if web_ended && counts.pending + counts.running == 0 {
                return Ok(killed);
            }
            if Instant::now() > deadline {
                bail!(
                    "not settled within {} s: {}; `--deadline SECONDS` gives it longer",
                    self.arguments.deadline,
                    self.line(&counts, jobs)
                );
            }
            // Counting costs by the number of rows: it is to take no more than a tenth of the time.
            tokio::time::sleep(EVERY.max(9 * looked.elapsed())).await;
        }
    }

    fn line(&self, counts: &Counts, jobs: u64) -> String {
        const WIDTH: u64 = 24;
        let full = (WIDTH * counts.settled()).checked_div(jobs).unwrap_or(WIDTH).min(WIDTH);
        let bar: String = (0..WIDTH).map(|place| if place < full { '█' } else { '·' }).collect();
        format!(
            "{bar} {} of {} jobs, {} of {} orders, {} claimed",
            grouped(counts.settled()),
            grouped(jobs),
            grouped(counts.events),
            grouped(self.expected.orders),
            counts.running,
        )
    }
}

fn still_runs(worker: &mut Child) -> anyhow::Result<()> {
    match worker.ended()? {
        None => Ok(()),
        Some(status) => bail!("{} has ended by itself: {status}", worker.name()),
    }
}

fn has_done_its_part(web: &mut Child) -> anyhow::Result<bool> {
    match web.ended()? {
        None => Ok(false),
        Some(status) if status.success() => Ok(true),
        Some(status) => bail!("the web role has failed: {status}"),
    }
}

#[allow(clippy::cast_precision_loss, reason = "for people, and counts are far below 2^52")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}
