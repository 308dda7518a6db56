//! Makes the faults of a plan happen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use outbox_testing::fault::{self, Session, Way};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

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
const GLANCE: Duration = Duration::from_millis(10);
/// How often the terminal hears of the run.
const NEWS: Duration = Duration::from_secs(15);

/// What was inflicted, by kind: how many were planned, and how many happened.
pub(crate) type Inflicted = BTreeMap<String, (u64, u64)>;

/// Carries out the whole plan, from `began` on. Returns when the last fault is over.
pub(super) async fn all(run: &Arc<Run>, began: Instant) -> Inflicted {
    let mut faults = JoinSet::new();
    for fault in run.plan.faults.clone() {
        let run = Arc::clone(run);
        faults.spawn(async move {
            run.until(began, fault.at).await;
            let name = fault.kind.name();
            let happened = one(&run, fault).await;
            (name, happened)
        });
    }
    if let Some(failover) = run.plan.failover {
        let run = Arc::clone(run);
        faults.spawn(async move {
            run.until(began, failover.at).await;
            ("failover".to_owned(), fail_over(&run, failover.synchronous).await.map(|()| true))
        });
    }
    let news = tokio::spawn(tell(Arc::clone(run), began));
    let mut inflicted = Inflicted::new();
    while let Some(ended) = faults.join_next().await {
        let Ok((name, happened)) = ended else { continue };
        let counts = inflicted.entry(name.clone()).or_default();
        counts.0 += 1;
        match happened {
            Ok(true) => {
                counts.1 += 1;
                run.fault(&name);
            }
            Ok(false) => {}
            // During another fault some cannot be inflicted: there is no session to be had on a server that is down.
            Err(error) => tracing::debug!(name, %error, "a fault did not happen"),
        }
    }
    run.until(began, run.plan.length).await;
    news.abort();
    inflicted
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
    let session = match holds {
        Holds::Rows => Session::lock_rows(url, "select 1 from system.job_live order by id limit 40 for update").await,
        Holds::Table(table, mode) => Session::lock_table(url, &format!("system.{table}"), mode).await,
        Holds::Snapshot => Session::snapshot(url).await,
    };
    let session = session?;
    sleep(lasts).await;
    // The server may be gone, and the session with it.
    let _ = session.rollback().await;
    Ok(true)
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
