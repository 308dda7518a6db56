//! Starts everything, makes the faults happen, heals, waits for the end, and has it checked.

mod database;
mod fleet;
mod inflict;
mod server;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::time::{Instant, sleep};

use crate::check::check;
use crate::node;
use crate::plan::Plan;
use crate::report::Report;
use crate::ways::Broker;
use database::Databases;
use fleet::Fleet;
use server::BrokerServer;

/// What a run is told.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Which broker is between the services.
    #[arg(long)]
    pub broker: Broker,
    /// What the faults are drawn from.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How long faults and load go on.
    #[arg(long, default_value_t = 2.0)]
    pub minutes: f64,
    /// Seconds between two faults, on average.
    #[arg(long, default_value_t = 4.0)]
    pub fault_every: f64,
    /// Transactions a second, of all senders together.
    #[arg(long, default_value_t = 60.0)]
    pub rate: f64,
    /// Print which faults the seed holds, and nothing else.
    #[arg(long)]
    pub plan: bool,
    /// The summary as one line of JSON.
    #[arg(long)]
    pub json: bool,
    /// Keep the logs in any case.
    #[arg(long)]
    pub keep: bool,
    /// Where the logs are meanwhile.
    #[arg(long)]
    pub folder: Option<PathBuf>,
}

/// For any change at all, when everything is healed.
const STALL: Duration = Duration::from_secs(90);
/// For everything to have ended.
const DRAIN: Duration = Duration::from_mins(5);
const GLANCE: Duration = Duration::from_millis(200);

/// A run that is under way.
pub(crate) struct Run {
    plan: Plan,
    databases: Databases,
    broker: BrokerServer,
    fleet: Fleet,
}

/// Runs. Answers whether every rule held.
///
/// # Errors
/// When the run could not be carried out: no PostgreSQL, no broker, a program that cannot be started.
#[allow(clippy::print_stdout, reason = "this is what the command says")]
pub async fn run(arguments: Arguments) -> anyhow::Result<bool> {
    let (length, every) =
        (Duration::from_secs_f64(arguments.minutes * 60.0), Duration::from_secs_f64(arguments.fault_every));
    let plan = Plan::draw(arguments.seed, length, every);
    if arguments.plan {
        print!("{plan}");
        return Ok(true);
    }
    let folder = folder_of(&arguments)?;
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let report = carry_out(plan, &arguments, &folder).await?;
    if arguments.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        print!("{report}");
    }
    if report.is_sound() && !arguments.keep {
        std::fs::remove_dir_all(&folder)?;
    } else {
        std::fs::write(folder.join("report"), report.to_string())?;
        said(&format!("the logs, the plan and the report are in {}", folder.display()));
    }
    Ok(report.is_sound())
}

fn folder_of(arguments: &Arguments) -> anyhow::Result<PathBuf> {
    if let Some(folder) = &arguments.folder {
        return Ok(folder.clone());
    }
    let program = std::env::current_exe()?;
    // `target/debug/outbox-chaos-broker`.
    let target = program.ancestors().nth(2).unwrap_or(Path::new("."));
    Ok(target.join("outbox/chaos-broker").join(format!("seed-{}", arguments.seed)))
}

async fn carry_out(plan: Plan, arguments: &Arguments, folder: &Path) -> anyhow::Result<Report> {
    std::fs::write(folder.join("plan"), plan.to_string())?;
    let databases = Databases::start().await?;
    let broker = BrokerServer::start(arguments.broker).await;
    let until = node::now() + u64::try_from(plan.length.as_millis())?;
    let fleet = Fleet::start(&databases, &broker, folder, arguments.rate, until)?;
    let run = Arc::new(Run { plan, databases, broker, fleet });
    run.fleet.until_at_work().await?;
    let inflicted = inflict::all(&run, Instant::now()).await;
    said("the faults are over; healing, and waiting until everything has arrived and has ended");
    run.heal().await;
    let stuck = run.until_everything_has_ended().await;
    run.fleet.stop().await;
    let seen = run.databases.seen().await.context("what both databases hold")?;
    let verdict = check(&seen);
    Ok(Report::of(arguments.broker, &run.plan, inflicted, &seen, verdict, stuck))
}

impl Run {
    /// Whatever a fault may have left: the broker is there, networks are good, and who stands still goes on.
    async fn heal(&self) {
        self.broker.heal().await;
        self.fleet.heal();
    }

    /// Why it is no longer waited for, when something has not ended.
    async fn until_everything_has_ended(&self) -> Option<String> {
        let began = Instant::now();
        let (mut last, mut changed) = (String::new(), began);
        loop {
            let progress = self.databases.progress().await;
            let told = match &progress {
                Ok(progress) if progress.is_over() => return None,
                Ok(progress) => format!("{progress:?}"),
                Err(error) => format!("the databases do not answer: {error:#}"),
            };
            if told != last {
                (last, changed) = (told, Instant::now());
            }
            if changed.elapsed() > STALL || began.elapsed() > DRAIN {
                let places = self.fleet.describe().join(", ");
                return Some(format!("nothing has changed for {:.0?}: {last}; {places}", changed.elapsed()));
            }
            sleep(GLANCE).await;
        }
    }
}

/// What a person at the terminal sees meanwhile.
#[allow(clippy::print_stderr, reason = "this is what the command says")]
pub(crate) fn said(line: &str) {
    eprintln!("{line}");
}
