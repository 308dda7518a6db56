//! Starts everything, makes the faults happen, heals, waits for the end, and has the history checked.

mod cluster;
mod fleet;
mod inflict;
mod operator;
mod rest;
mod stuck;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::time::{Instant, sleep_until, timeout};

use crate::check;
use crate::clock::Monotonic;
use crate::history::{self, History};
use crate::ledger::{Entry, Ledger};
use crate::plan::{Nodes, Plan};
use crate::report::Report;
use cluster::Cluster;
use fleet::Fleet;
use operator::Operator;

/// A run that is shorter has no failover, unless it is asked for.
const LONG: Duration = Duration::from_mins(5);

/// What to run.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// What the faults and the load are drawn from.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How long faults and load go on.
    #[arg(long, default_value_t = 10.0)]
    pub minutes: f64,
    /// One fault in so many seconds, on average.
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS")]
    pub fault_every: f64,
    /// How many workers.
    #[arg(long, default_value_t = 3)]
    pub workers: u64,
    /// How many publishers.
    #[arg(long, default_value_t = 2)]
    pub publishers: u64,
    /// Transactions a second, of all publishers together; each brings about nine jobs.
    #[arg(long, default_value_t = 24.0)]
    pub rate: f64,
    /// Whether the database fails over to a replica. By default it does once, to a synchronous one, in runs of five minutes and
    /// more.
    #[arg(long, value_enum)]
    pub failover: Option<FailoverKind>,
    /// Prints the plan, and runs nothing.
    #[arg(long)]
    pub plan: bool,
    /// Prints the summary as one line of JSON.
    #[arg(long)]
    pub json: bool,
    /// Keeps the run's files when nothing is wrong, too.
    #[arg(long)]
    pub keep: bool,
    /// Where the run's files go; else to a folder beside the programs that cargo built.
    #[arg(long)]
    pub folder: Option<PathBuf>,
}

/// Whether the database fails over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FailoverKind {
    /// It does not.
    None,
    /// To a replica that has everything that was answered as committed.
    Synchronous,
    /// To one that may lack the last of it.
    Asynchronous,
}

impl Arguments {
    fn plan_of(&self) -> anyhow::Result<Plan> {
        anyhow::ensure!(self.workers > 0 && self.publishers > 0, "a run needs a worker and a publisher");
        let length = Duration::try_from_secs_f64(self.minutes * 60.0).context("`--minutes`")?;
        let every = Duration::try_from_secs_f64(self.fault_every.max(0.05)).context("`--fault-every`")?;
        let failover = match self.failover {
            None => (length >= LONG).then_some(true),
            Some(FailoverKind::None) => None,
            Some(kind) => Some(kind == FailoverKind::Synchronous),
        };
        let nodes = Nodes { workers: self.workers, publishers: self.publishers };
        Ok(Plan::draw(self.seed, length, every, nodes, failover))
    }

    fn folder_of(&self) -> anyhow::Result<PathBuf> {
        if let Some(folder) = &self.folder {
            return Ok(folder.clone());
        }
        let program = std::env::current_exe()?;
        // `target/debug/outbox-chaos`, or a test's copy of it.
        let target = program.ancestors().nth(2).unwrap_or(Path::new("."));
        Ok(target.join("outbox/chaos").join(format!("seed-{}", self.seed)))
    }
}

/// Runs. Answers whether every guarantee held.
///
/// # Errors
/// When the run could not be carried out: no PostgreSQL, no disk, a program that cannot be started.
#[allow(clippy::print_stdout, reason = "this is what the command says")]
pub async fn run(arguments: Arguments) -> anyhow::Result<bool> {
    let plan = arguments.plan_of()?;
    if arguments.plan {
        print!("{plan}");
        return Ok(true);
    }
    let folder = arguments.folder_of()?;
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    std::fs::write(folder.join("plan"), plan.to_string())?;
    let program = own_program(&folder).context("the program")?;
    let report = carry_out(plan, arguments.rate, &folder, &program, Patience::default()).await?;
    if arguments.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        print!("{report}");
    }
    if report.is_sound() && !arguments.keep {
        std::fs::remove_dir_all(&folder)?;
    } else {
        std::fs::write(folder.join("report"), report.to_string())?;
        said(&format!("the run's ledgers, logs, plan and report are in {}", folder.display()));
    }
    if !report.is_sound() {
        said(&format!("again: cargo xtask chaos {}", again(&arguments)));
    }
    Ok(report.is_sound())
}

/// This program under a name that nobody replaces while it runs: a build does that, and the processes of a run are one program.
fn own_program(folder: &Path) -> std::io::Result<PathBuf> {
    let (own, kept) = (std::env::current_exe()?, folder.join("outbox-chaos"));
    std::fs::hard_link(&own, &kept).or_else(|_| std::fs::copy(&own, &kept).map(drop))?;
    Ok(kept)
}

fn again(arguments: &Arguments) -> String {
    let Arguments { seed, minutes, fault_every, workers, publishers, rate, .. } = arguments;
    let failover = match arguments.failover {
        None => "",
        Some(FailoverKind::None) => " --failover none",
        Some(FailoverKind::Synchronous) => " --failover synchronous",
        Some(FailoverKind::Asynchronous) => " --failover asynchronous",
    };
    format!(
        "--seed {seed} --minutes {minutes} --fault-every {fault_every} --workers {workers} --publishers {publishers} --rate {rate}{failover}"
    )
}

/// What a person at the terminal sees meanwhile.
#[allow(clippy::print_stderr, reason = "this is what the command says")]
pub(crate) fn said(line: &str) {
    eprintln!("{line}");
}

/// A run that is under way.
struct Run {
    plan: Plan,
    ledger: Ledger,
    cluster: Cluster,
    fleet: Fleet,
}

/// How long a run waits for what is to end.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For the faults, behind the run's length: one may wait for its turn behind another.
    pub faults: Duration,
    /// For any change at all, when everything is healed.
    pub stall: Duration,
    /// For the last job to end; a load that goes round in circles changes for ever.
    pub drain: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { faults: Duration::from_mins(2), stall: Duration::from_secs(45), drain: Duration::from_mins(5) }
    }
}

/// For the tables to be made, on a server where nobody else is yet.
const PREPARED: Duration = Duration::from_mins(2);

/// Carries out a plan in a folder that is there. `program` is this crate's, and what the processes are started from; `rate` is in
/// transactions a second.
///
/// # Errors
/// When the run could not be carried out. One that does not come to its end is no error: its report says so, and the folder then
/// holds `stuck`, with what was to be seen.
pub async fn carry_out(
    plan: Plan,
    rate: f64,
    folder: &Path,
    program: &Path,
    patience: Patience,
) -> anyhow::Result<Report> {
    let ledger = Ledger::open(folder, "conductor")?;
    let cluster = Cluster::start(plan.failover.map(|failover| failover.synchronous)).await?;
    timeout(PREPARED, history::prepare(&cluster.url())).await.context("the tables")?.context("the tables")?;
    let fleet = Fleet::start(&plan, rate, folder, program, &ledger, &cluster.url(), Monotonic::now())?;
    let run = Arc::new(Run { plan, ledger: ledger.clone(), cluster, fleet });
    let operator = Operator::start(&run, &ledger).await?;
    run.fleet.until_at_work().await?;
    let mut stuck = Vec::new();
    let (inflicted, open) = inflict::all(&run, Instant::now(), patience.faults).await;
    for fault in &open.told {
        stuck.push(format!("a fault was not over {:.0?} behind the run: {fault}", patience.faults));
    }
    if !stuck.is_empty() {
        run.keep_dump(folder, &stuck).await;
    }
    drop(open);
    said("the faults are over; healing, and waiting until every job has ended");
    rest::heal(&run);
    let left = rest::until_everything_has_ended(&run, patience).await;
    if let Some(left) = &left {
        stuck.push(left.why.clone());
        run.keep_dump(folder, &stuck).await;
    }
    operator.stop().await;
    run.fleet.stop_all().await;
    let mut history = match History::gather(&run.cluster.url(), folder).await {
        Err(error) if !stuck.is_empty() => {
            stuck.push(format!("the history cannot be read: {error:#}"));
            History::default()
        }
        gathered => gathered.context("the history")?,
    };
    history.limits.stalled = left.map_or(0, |left| left.jobs);
    let verdict = tokio::task::spawn_blocking(move || {
        let verdict = check::check(&history);
        (verdict, history)
    });
    let (verdict, history) = verdict.await?;
    let report = Report { stuck, ..Report::of(&run.plan, inflicted, &history, verdict) };
    if !report.is_sound() {
        run.cluster.keep_log(folder);
    }
    Ok(report)
}

impl Run {
    /// Waits for a moment of the run.
    async fn until(&self, began: Instant, at: Duration) {
        sleep_until(began + at).await;
    }

    /// Tells, and writes down, why the run does not come to its end, and what is to be seen of that.
    async fn keep_dump(&self, folder: &Path, why: &[String]) {
        let places: Vec<_> = self.fleet.places().map(|place| place.describe()).collect();
        let dump = format!("{}\n\n{}", why.join("\n"), stuck::dump(&self.cluster.url(), &places).await);
        said(&dump);
        if let Err(error) = std::fs::write(folder.join("stuck"), dump) {
            said(&format!("`stuck` cannot be written: {error}"));
        }
    }

    fn fault(&self, kind: &str) {
        self.ledger.say(Entry::Fault { kind: kind.to_owned() });
    }
}
