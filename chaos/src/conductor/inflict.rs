//! Makes the faults of a plan happen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use outbox_testing::fault::{self, LockError, Session, Way};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::fleet::{Place, Present};
use super::{Run, said};
use crate::clock::Wall;
use crate::history;
use crate::ledger::Entry;
use crate::plan::{At, Connections, Fault, Holds, Kind, Then, Weather};

/// How long a point is waited for; a process that does not pass it meanwhile is let off.
const TRAP: Duration = Duration::from_secs(15);
/// How long a process is waited for that is to be there.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a statement takes that was held, until the server has carried it out.
const ARRIVAL: Duration = Duration::from_millis(400);
/// How long a session asks for what it is to hold; everybody else stands behind it meanwhile.
const LOCK: Duration = Duration::from_secs(2);
/// How long anything else takes that is asked of the server for a fault.
const SERVER: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_millis(10);
/// How often the terminal hears of the run.
const NEWS: Duration = Duration::from_secs(15);

/// What was inflicted, by kind: how many were planned, and how many happened.
pub(crate) type Inflicted = BTreeMap<String, (u64, u64)>;

/// Faults that are not over. They end when this is dropped, and the sessions that they hold with them.
pub(super) struct Open {
    pub(super) told: Vec<String>,
    _tasks: JoinSet<anyhow::Result<bool>>,
}

/// Carries out the whole plan, from `began` on. Returns when the last fault is over, or `grace` behind the run's length, with those
/// that were not over by then.
pub(super) async fn all(run: &Arc<Run>, began: Instant, grace: Duration) -> (Inflicted, Open) {
    let (mut faults, mut open) = (JoinSet::new(), BTreeMap::new());
    for fault in run.plan.faults.clone() {
        let (run, name, told) = (Arc::clone(run), fault.kind.name(), fault.kind.to_string());
        let task = faults.spawn(async move {
            run.until(began, fault.at).await;
            one(&run, fault).await
        });
        open.insert(task.id(), (name, told));
    }
    if let Some(failover) = run.plan.failover {
        let run = Arc::clone(run);
        let task = faults.spawn(async move {
            run.until(began, failover.at).await;
            fail_over(&run, failover.synchronous).await.map(|()| true)
        });
        open.insert(task.id(), ("failover".to_owned(), "failover".to_owned()));
    }
    let news = tokio::spawn(tell(Arc::clone(run), began));
    let mut inflicted = Inflicted::new();
    let deadline = began + run.plan.length + grace;
    while let Ok(Some(ended)) = timeout_at(deadline, faults.join_next_with_id()).await {
        let (id, happened) = match ended {
            Ok((id, happened)) => (id, happened),
            Err(error) => (error.id(), Err(error.into())),
        };
        let Some((name, _)) = open.remove(&id) else { continue };
        count(run, &mut inflicted, name, happened);
    }
    run.until(began, run.plan.length).await;
    news.abort();
    (inflicted, Open { told: open.into_values().map(|(_, told)| told).collect(), _tasks: faults })
}

fn count(run: &Run, inflicted: &mut Inflicted, name: String, happened: anyhow::Result<bool>) {
    match &happened {
        Ok(true) => run.fault(&name),
        Ok(false) => {}
        // During another fault some cannot be inflicted: there is no session to be had on a server that is down.
        Err(error) => tracing::debug!(name, %error, "a fault did not happen"),
    }
    let counts = inflicted.entry(name).or_default();
    counts.0 += 1;
    counts.1 += u64::from(happened.is_ok_and(|happened| happened));
}

async fn tell(run: Arc<Run>, began: Instant) {
    loop {
        sleep(NEWS).await;
        let at = began.elapsed().as_secs();
        match history::progress(&run.cluster.url()).await {
            Ok(progress) => said(&format!("{at:>4} s  {progress}")),
            Err(_) => said(&format!("{at:>4} s  the database does not answer")),
        }
    }
}

/// Answers whether it happened.
async fn one(run: &Arc<Run>, fault: Fault) -> anyhow::Result<bool> {
    match fault.kind {
        Kind::Kill { place } => kill(run.fleet.place(&place)?).await,
        Kind::Freeze { place, lasts } => freeze(run, run.fleet.place(&place)?, lasts).await,
        Kind::Terminate { place } => {
            let place = run.fleet.place(&place)?;
            let _turn = place.turn.lock().await;
            until_present(place).await;
            Ok(place.terminate())
        }
        Kind::Network { place, connections, what, lasts } => {
            disturb(run.fleet.place(&place)?, connections, what, lasts).await;
            Ok(true)
        }
        Kind::Point { place, point, then } => at_point(run.fleet.place(&place)?, point, then).await,
        Kind::Late { place, point, lasts } => late(run, run.fleet.place(&place)?, point, lasts).await,
        Kind::Server(how) => run.cluster.stop(how).await.map(|()| true),
        Kind::Session { holds, lasts } => hold(&run.cluster.url(), holds, lasts).await,
        // The process does it by itself, and says so in its ledger.
        Kind::Starve { .. } => Ok(false),
    }
}

async fn until_present(place: &Place) {
    let deadline = Instant::now() + PATIENCE;
    while place.present().is_none() && Instant::now() < deadline {
        sleep(GLANCE).await;
    }
}

async fn kill(place: &Arc<Place>) -> anyhow::Result<bool> {
    let _turn = place.turn.lock().await;
    until_present(place).await;
    let place = Arc::clone(place);
    Ok(tokio::task::spawn_blocking(move || place.kill()).await?)
}

async fn freeze(run: &Run, place: &Arc<Place>, lasts: Duration) -> anyhow::Result<bool> {
    let _turn = place.turn.lock().await;
    until_present(place).await;
    let Some(frozen) = freeze_now(run, place).await? else { return Ok(false) };
    sleep(lasts).await;
    frozen.thaw(run);
    Ok(true)
}

/// A process that stands still.
struct Still(Present);

impl Still {
    fn thaw(self, run: &Run) {
        // It may have been killed at a point meanwhile.
        let _ = self.0.process.thaw();
        run.ledger.say(Entry::Thawed { node: self.0.name });
    }
}

async fn freeze_now(run: &Run, place: &Arc<Place>) -> anyhow::Result<Option<Still>> {
    let Some(present) = place.present() else { return Ok(None) };
    run.ledger.say(Entry::Froze { node: present.name.clone() });
    let process = Arc::clone(&present.process);
    let frozen = tokio::task::spawn_blocking(move || process.freeze()).await?;
    let still = Still(present);
    if frozen.is_err() {
        still.thaw(run);
        return Ok(None);
    }
    Ok(Some(still))
}

async fn disturb(place: &Place, connections: Connections, what: Weather, lasts: Duration) {
    let connections = match connections {
        Connections::All => place.proxy.all(),
        Connections::Of(application) => place.proxy.of(application),
    };
    match what {
        Weather::Cut => return connections.cut(),
        Weather::Forget => return connections.forget(),
        Weather::Delay(delay) => {
            connections.delay(Way::ToServer, delay);
            connections.delay(Way::ToClient, delay);
        }
        Weather::BlackHole => connections.black_hole(),
        Weather::Refuse => connections.refuse(),
    }
    sleep(lasts).await;
    connections.clear();
}

fn point_of(at: At) -> fault::Point {
    let point = if at.after { fault::Point::after(at.statement) } else { fault::Point::before(at.statement) };
    at.following.into_iter().fold(point, fault::Point::following)
}

/// Waits until a trap is reached; not for ever.
async fn is_reached(trap: &fault::Trap) -> bool {
    let deadline = Instant::now() + TRAP;
    while trap.reached() == 0 && Instant::now() < deadline {
        sleep(GLANCE).await;
    }
    trap.reached() > 0
}

/// The statement arrives when the lease of its process has ended, and before the process goes on.
async fn late(run: &Run, place: &Arc<Place>, at: At, lasts: Duration) -> anyhow::Result<bool> {
    let _turn = place.turn.lock().await;
    let trap = place.proxy.hold_at(point_of(at));
    if !is_reached(&trap).await {
        return Ok(false);
    }
    let Some(frozen) = freeze_now(run, place).await? else { return Ok(false) };
    sleep(lasts).await;
    trap.release();
    sleep(ARRIVAL).await;
    frozen.thaw(run);
    Ok(true)
}

async fn at_point(place: &Arc<Place>, at: At, then: Then) -> anyhow::Result<bool> {
    let point = point_of(at);
    let trap = match then {
        Then::Cut => place.proxy.cut_at(point),
        Then::Kill => {
            let place = Arc::clone(place);
            place.clone().proxy.call_at(point, move || {
                place.kill();
                fault::Then::Cut
            })
        }
    };
    Ok(is_reached(&trap).await)
}

async fn hold(url: &str, holds: Holds, lasts: Duration) -> anyhow::Result<bool> {
    let session = match timeout(SERVER, session_that(url, holds)).await.context("the server does not answer")? {
        // Somebody else holds it: this fault meets nobody.
        Err(LockError::NotGiven { .. }) => return Ok(false),
        session => session?,
    };
    sleep(lasts).await;
    // The server may be gone, and the session with it.
    let _ = timeout(SERVER, session.rollback()).await;
    Ok(true)
}

async fn session_that(url: &str, holds: Holds) -> Result<Session, LockError> {
    const ROWS: &str = "select 1 from system.job_live order by id limit 40 for update";
    match holds {
        Holds::Rows => Session::lock_rows_within(url, ROWS, LOCK).await,
        Holds::Table(table, mode) => Session::lock_table_within(url, &format!("system.{table}"), mode, LOCK).await,
        Holds::Snapshot => Ok(Session::snapshot(url).await?),
    }
}

async fn fail_over(run: &Arc<Run>, synchronous: bool) -> anyhow::Result<()> {
    let all = Arc::clone(run);
    let moved = move |url: &str| {
        for place in all.fleet.places() {
            // Never refused: it is a URL of our own.
            let _ = place.proxy.point_to(url);
            place.proxy.all().cut();
        }
    };
    run.cluster.fail_over(moved).await?;
    let last = history::last_survived(&run.cluster.url()).await.context("the new server")?;
    run.ledger.say(Entry::FailedOver { synchronous, survived: Wall(last) });
    said("failed over to the replica");
    Ok(())
}
