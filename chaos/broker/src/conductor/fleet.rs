//! The processes of both services, each behind a proxy of its own; one that ends is followed by another in its place.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use outbox_testing::fault::{Process, Proxy};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};

use super::database::Databases;
use super::said;
use super::server::BrokerServer;
use crate::node::READY;
use crate::plan::{PLACES, Service};

/// How often a process is looked at.
const GLANCE: Duration = Duration::from_millis(10);
/// Between the end of a process and the start of the next one in its place.
const GAP: Duration = Duration::from_millis(300);
/// Longest wait for the processes to be at work, and to end when they are asked to.
const PATIENCE: Duration = Duration::from_mins(1);

/// All places.
pub(super) struct Fleet {
    places: BTreeMap<&'static str, Arc<Place>>,
    supervisors: Mutex<Vec<JoinHandle<()>>>,
}

/// A place, with the process that is in it at the moment.
pub(super) struct Place {
    name: &'static str,
    /// Between its processes and their database.
    pub(super) proxy: Proxy,
    folder: PathBuf,
    program: PathBuf,
    arguments: Vec<String>,
    present: Mutex<Option<Arc<Process>>>,
    started: AtomicU64,
    /// Whether it is to be left empty.
    stop: watch::Sender<bool>,
    /// Whoever freezes or kills does it alone.
    pub(super) turn: tokio::sync::Mutex<()>,
}

impl Fleet {
    /// Starts all of them.
    pub(super) fn start(
        databases: &Databases,
        broker: &BrokerServer,
        folder: &Path,
        rate: f64,
        until: u64,
    ) -> anyhow::Result<Self> {
        let mut places = BTreeMap::new();
        for name in PLACES {
            let role = name.split('-').next().unwrap_or_default();
            let service = if role == "sender" { Service::Sender } else { Service::Receiver };
            let proxy = Proxy::start(&databases.url(service)?).context("a proxy")?;
            let kind = match broker.kind {
                crate::ways::Broker::Nats => "nats",
                crate::ways::Broker::Rabbitmq => "rabbitmq",
            };
            let address = broker.network(service).address().to_string();
            let mut arguments = vec!["--url".to_owned(), proxy.url()];
            arguments.extend(["--broker".to_owned(), kind.to_owned(), "--address".to_owned(), address]);
            if role == "sender" {
                arguments.extend(["--rate".to_owned(), (rate / 2.0).to_string()]);
                arguments.extend(["--until".to_owned(), until.to_string()]);
            }
            let place = Place {
                name,
                proxy,
                folder: folder.to_owned(),
                program: program(role, folder)?,
                arguments,
                present: Mutex::default(),
                started: AtomicU64::new(0),
                stop: watch::Sender::new(false),
                turn: tokio::sync::Mutex::default(),
            };
            places.insert(name, Arc::new(place));
        }
        let supervisors = places.values().map(|place| tokio::spawn(supervise(Arc::clone(place)))).collect();
        Ok(Self { places, supervisors: Mutex::new(supervisors) })
    }

    /// The place of this name, which the plan has.
    pub(super) fn place(&self, name: &str) -> anyhow::Result<&Arc<Place>> {
        self.places.get(name).with_context(|| format!("there is no {name}"))
    }

    /// Waits until every process is at work.
    pub(super) async fn until_at_work(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        for place in self.places.values() {
            while place.present().is_none_or(|process| process.heard(READY) == 0) {
                anyhow::ensure!(Instant::now() < deadline, "{} does not get to work; see its log", place.name);
                sleep(GLANCE).await;
            }
        }
        Ok(())
    }

    /// Networks are good again, and who stands still goes on.
    pub(super) fn heal(&self) {
        for place in self.places.values() {
            place.proxy.all().clear();
            place.proxy.all().cut();
            if let Some(process) = place.present() {
                // It may have ended meanwhile.
                let _ = process.thaw();
            }
        }
    }

    /// Asks everybody to end, whom nobody follows, and waits for it.
    pub(super) async fn stop(&self) {
        for place in self.places.values() {
            place.stop.send_replace(true);
        }
        let supervisors = std::mem::take(&mut *self.supervisors.lock().unwrap_or_else(PoisonError::into_inner));
        let deadline = Instant::now() + PATIENCE;
        for supervisor in supervisors {
            // One that does not end is killed with its conductor.
            let _ = timeout_at(deadline, supervisor).await;
        }
    }

    /// How often a process was started in each place.
    pub(super) fn describe(&self) -> Vec<String> {
        let of = |place: &Arc<Place>| format!("{}: {} starts", place.name, place.started.load(Ordering::Relaxed));
        self.places.values().map(of).collect()
    }
}

/// The service's program beside our own, under a name that nobody replaces while it runs: a build does that.
fn program(role: &str, folder: &Path) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let name = format!("outbox-chaos-{role}");
    let (built, kept) = (own.with_file_name(&name), folder.join(&name));
    if !kept.exists() {
        let linked = std::fs::hard_link(&built, &kept).or_else(|_| std::fs::copy(&built, &kept).map(drop));
        linked.with_context(|| built.display().to_string())?;
    }
    Ok(kept)
}

impl Place {
    /// Who is there now.
    pub(super) fn present(&self) -> Option<Arc<Process>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn spawn(&self) -> anyhow::Result<Arc<Process>> {
        let number = self.started.fetch_add(1, Ordering::Relaxed) + 1;
        let name = format!("{}.{number}", self.name);
        let log = File::create(self.folder.join(format!("{name}.log")))?;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args(["--name", &name]);
        // The end of our input is the sign for it to end, should we die.
        command.stdin(Stdio::piped()).stderr(log).env("RUST_BACKTRACE", "0");
        Ok(Arc::new(Process::spawn(&mut command)?))
    }

    fn set(&self, present: Option<Arc<Process>>) {
        *self.present.lock().unwrap_or_else(PoisonError::into_inner) = present;
    }
}

async fn supervise(place: Arc<Place>) {
    let mut stopped = place.stop.subscribe();
    loop {
        let process = match place.spawn() {
            Ok(process) => process,
            Err(error) => return said(&format!("{} cannot be started: {error:#}", place.name)),
        };
        place.set(Some(Arc::clone(&process)));
        ended(&process, &stopped).await;
        place.set(None);
        tokio::select! {
            _ = stopped.wait_for(|stop| *stop) => return,
            () = sleep(GAP) => {}
        }
    }
}

/// Waits for the end of a process, and asks for it when its place is to be left empty.
async fn ended(process: &Process, stopped: &watch::Receiver<bool>) {
    let mut asked = false;
    while let Ok(None) = process.try_ended() {
        if *stopped.borrow() && !asked {
            asked = process.terminate().is_ok();
        }
        sleep(GLANCE).await;
    }
}
