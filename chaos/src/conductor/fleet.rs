//! The processes of a run, each behind a proxy of its own; one that ends is followed by another in its place.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use outbox_testing::fault::{Process, Proxy};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};

use crate::clock::Monotonic;
use crate::ledger::{Entry, Ledger};
use crate::node::{NOT_OPENED, READY};
use crate::plan::Plan;

/// How often a process is looked at.
const GLANCE: Duration = Duration::from_millis(10);
/// Between the end of a process and the start of the next one in its place.
const GAP: Duration = Duration::from_millis(200);
/// The same behind many that did not get to work.
const LONGEST_GAP: Duration = Duration::from_secs(5);
/// Longest wait for the processes to be at work, and to end when they are asked to.
const PATIENCE: Duration = Duration::from_mins(1);

/// All places.
#[derive(Debug)]
pub(super) struct Fleet {
    places: BTreeMap<String, Arc<Place>>,
    supervisors: Mutex<Vec<(Arc<Place>, JoinHandle<()>)>>,
}

/// A place, with the process that is in it at the moment.
#[derive(Debug)]
pub(super) struct Place {
    name: String,
    /// Between its processes and the database.
    pub(super) proxy: Proxy,
    ledger: Ledger,
    folder: PathBuf,
    program: PathBuf,
    arguments: Vec<String>,
    present: Mutex<Option<Present>>,
    started: AtomicU64,
    /// Whether it is to be left empty.
    stop: watch::Sender<bool>,
    /// Whoever freezes or kills does it alone.
    pub(super) turn: tokio::sync::Mutex<()>,
}

/// A process and its name.
#[derive(Clone, Debug)]
pub(super) struct Present {
    pub(super) name: String,
    pub(super) process: Arc<Process>,
}

impl Fleet {
    /// Starts all of them.
    pub(super) fn start(
        plan: &Plan,
        rate: f64,
        folder: &Path,
        program: &Path,
        ledger: &Ledger,
        url: &str,
        began: Monotonic,
    ) -> anyhow::Result<Self> {
        let each = rate / f64::from(u32::try_from(plan.nodes.publishers.max(1))?);
        let mut places = BTreeMap::new();
        for name in plan.nodes.places() {
            let proxy = Proxy::start(url).context("a proxy")?;
            let role = name.split('-').next().unwrap_or_default().to_owned();
            let mut arguments = vec![role.clone(), "--url".to_owned(), proxy.url()];
            arguments.extend(["--folder".to_owned(), folder.display().to_string()]);
            arguments.extend(["--seed".to_owned(), plan.seed.to_string(), "--began".to_owned(), began.0.to_string()]);
            if role == "publisher" {
                arguments.extend(["--rate".to_owned(), each.to_string()]);
            }
            for (at, lasts) in plan.starvations(&name) {
                arguments.push(format!("--starve={}+{}", at.as_millis(), lasts.as_millis()));
            }
            let place = Place {
                name: name.clone(),
                proxy,
                ledger: ledger.clone(),
                folder: folder.to_owned(),
                program: program.to_owned(),
                arguments,
                present: Mutex::default(),
                started: AtomicU64::new(0),
                stop: watch::Sender::new(false),
                turn: tokio::sync::Mutex::default(),
            };
            places.insert(name, Arc::new(place));
        }
        let supervised = |place: &Arc<Place>| (Arc::clone(place), tokio::spawn(supervise(Arc::clone(place))));
        let supervisors = Mutex::new(places.values().map(supervised).collect());
        Ok(Self { places, supervisors })
    }

    /// The place of this name, which the plan has.
    pub(super) fn place(&self, name: &str) -> anyhow::Result<&Arc<Place>> {
        self.places.get(name).with_context(|| format!("there is no {name}"))
    }

    /// All of them.
    pub(super) fn places(&self) -> impl Iterator<Item = &Arc<Place>> {
        self.places.values()
    }

    /// Waits until every process is at work.
    pub(super) async fn until_at_work(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        for place in self.places.values() {
            while place.present().is_none_or(|present| present.process.heard(READY) == 0) {
                anyhow::ensure!(Instant::now() < deadline, "{} does not get to work; see its log", place.name);
                sleep(GLANCE).await;
            }
        }
        Ok(())
    }

    /// Asks the publishers to end, and waits for it.
    pub(super) async fn stop_publishers(&self) {
        self.stop(Place::publishes).await;
    }

    /// Asks everybody to end, and waits for it.
    pub(super) async fn stop_all(&self) {
        self.stop(|_| true).await;
    }

    /// Asks some to end, whom nobody follows. One that does not is killed when the run ends, and is a violation.
    async fn stop(&self, which: impl Fn(&Place) -> bool) {
        let mut supervisors = std::mem::take(&mut *self.supervisors.lock().unwrap_or_else(PoisonError::into_inner));
        let stopping: Vec<_> = supervisors.extract_if(.., |(place, _)| which(place)).collect();
        *self.supervisors.lock().unwrap_or_else(PoisonError::into_inner) = supervisors;
        for (place, _) in &stopping {
            place.stop.send_replace(true);
        }
        let deadline = Instant::now() + PATIENCE;
        for (place, supervisor) in stopping {
            if timeout_at(deadline, supervisor).await.is_err() {
                let node = place.present().map_or_else(|| place.name.clone(), |present| present.name);
                place.ledger.say(Entry::Died {
                    node,
                    how: "not at all, though it was asked to".to_owned(),
                    expected: false,
                });
            }
        }
    }
}

impl Place {
    /// Who is there now.
    pub(super) fn present(&self) -> Option<Present> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Who is there and how often a process was started there, as one line.
    pub(super) fn describe(&self) -> String {
        let started = self.started.load(Ordering::Relaxed);
        let present = self.present().map_or_else(
            || "nobody is there".to_owned(),
            |present| {
                let state = if present.process.heard(READY) > 0 { "at work" } else { "starting" };
                format!("{} (process {}) is {state}", present.name, present.process.pid())
            },
        );
        format!("starts of {}: {started}; {present}", self.name)
    }

    /// Whether it publishes.
    pub(super) fn publishes(&self) -> bool {
        self.name.starts_with("publisher")
    }

    /// Asks whoever is there to end.
    pub(super) fn terminate(&self) -> bool {
        self.present().is_some_and(|present| present.process.terminate().is_ok())
    }

    /// `SIGKILL` for whoever is there. Blocks until it is gone.
    pub(super) fn kill(&self) -> bool {
        self.present().is_some_and(|present| present.process.kill().is_ok())
    }

    fn spawn(&self, number: u64) -> anyhow::Result<Present> {
        let name = format!("{}.{number}", self.name);
        let log = File::create(self.folder.join(format!("{name}.log")))?;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args(["--name", &name]);
        // The end of our input is the sign for it to end, should we die.
        command.stdin(Stdio::piped()).stderr(log);
        // Handlers panic on purpose, and to look up the frames of each would be most of what the process does.
        command.env("RUST_BACKTRACE", "0");
        self.ledger.say(Entry::Born { node: name.clone() });
        self.started.fetch_add(1, Ordering::Relaxed);
        Ok(Present { name, process: Arc::new(Process::spawn(&mut command)?) })
    }

    fn set(&self, present: Option<Present>) {
        *self.present.lock().unwrap_or_else(PoisonError::into_inner) = present;
    }
}

async fn supervise(place: Arc<Place>) {
    let mut stopped = place.stop.subscribe();
    let mut in_vain = 0;
    for number in 1.. {
        let present = match place.spawn(number) {
            Ok(present) => present,
            Err(error) => return super::said(&format!("{} cannot be started: {error:#}", place.name)),
        };
        place.set(Some(present.clone()));
        let status = ended(&present.process, &mut stopped).await;
        place.set(None);
        in_vain = if present.process.heard(READY) > 0 { 0 } else { in_vain + 1 };
        let how = status.map_or_else(|| "unknown".to_owned(), |status| status.to_string());
        let expected = status.is_some_and(is_expected);
        place.ledger.say(Entry::Died { node: present.name, how, expected });
        tokio::select! {
            _ = stopped.wait_for(|stop| *stop) => return,
            () = sleep(gap(in_vain)) => {}
        }
    }
}

/// How long a place stays empty when so many in a row have not got to work: a database that lets nobody begin is asked less and less
/// often.
fn gap(in_vain: u32) -> Duration {
    (GAP * 2_u32.saturating_pow(in_vain.min(16))).min(LONGEST_GAP)
}

/// Waits for the end of a process, and asks for it when its place is to be left empty.
async fn ended(process: &Process, stopped: &mut watch::Receiver<bool>) -> Option<ExitStatus> {
    let mut asked = false;
    loop {
        match process.try_ended() {
            Ok(None) => sleep(GLANCE).await,
            Ok(status) => return status,
            Err(_) => return None,
        }
        if *stopped.borrow() && !asked {
            asked = process.terminate().is_ok();
        }
    }
}

/// Killed by us, aborted by a handler, asked to end, or without a database when it opened. Nothing else ends a process.
fn is_expected(status: ExitStatus) -> bool {
    const ABORT: i32 = 6;
    const KILL: i32 = 9;
    // Asked to end before it listens for that.
    const TERMINATE: i32 = 15;
    match (status.code(), status.signal()) {
        (Some(code), _) => code == 0 || code == NOT_OPENED,
        (None, signal) => matches!(signal, Some(ABORT | KILL | TERMINATE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One that was at work is followed at once; those that cannot begin are followed later and later, and never not at all.
    #[test]
    fn who_cannot_start_is_started_less_and_less_often() {
        assert_eq!(gap(0), GAP);
        assert!((0..4).all(|in_vain| gap(in_vain + 1) == gap(in_vain) * 2));
        assert_eq!(gap(5), LONGEST_GAP);
        assert_eq!(gap(u32::MAX), LONGEST_GAP);
    }
}
